import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listOutgoing, queueMessages } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { hmacSha256Hex, loadConfig, Vault, saidText } from '@acp/kernel';
import { databaseWithQueue, type FakeMail, startFakeMail, testLogger, waitFor } from '@acp/testkit';
import { MessageSender } from './message-sender.ts';

interface Posted {
  path: string;
  headers: Record<string, unknown>;
  body: string;
}

const SECRET = 'a secret of the operator';
const vault = new Vault(Buffer.alloc(32, 3));

let database: Database;
let mail: FakeMail;
let settings: Record<string, string>;
let sender: MessageSender;
const posted: Posted[] = [];
let answer = 200;
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    posted.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(answer).end('{"ok":true}');
  });
});

const open = (env: Record<string, string>) =>
  new MessageSender({ database, logger: testLogger(), vault, config: loadConfig(env) });

beforeAll(async () => {
  database = await databaseWithQueue();
  mail = await startFakeMail();
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  settings = {
    SERVICE_SMTP_URL: mail.url,
    SERVICE_MAIL_FROM: 'Harbour <alerts@example.com>',
    SERVICE_ALERT_SLACK_URL: `${url}/slack`,
    SERVICE_ALERT_TELEGRAM_URL: url,
    SERVICE_ALERT_TELEGRAM_TOKEN: '123:abc',
    SERVICE_ALERT_TELEGRAM_CHAT: '-100',
    SERVICE_ALERT_WEBHOOK_URL: `${url}/hook`,
    SERVICE_ALERT_WEBHOOK_SECRET: SECRET,
  };
});
afterAll(async () => {
  receiver.close();
  await mail.close();
});
beforeEach(async () => {
  await database.pool.query('delete from outgoing_messages');
  posted.length = 0;
  mail.received.length = 0;
  mail.refuseWith(0);
  answer = 200;
  sender = open(settings);
});
// A pass that is still under way would claim the next test's message.
afterEach(async () => sender.stop());

type Channel = 'mail' | 'slack' | 'telegram' | 'webhook';
const queue = async (channel: Channel, more: object = {}, sealing: Vault | null = null) =>
  transaction(database, async (tx) =>
    queueMessages(
      tx,
      [
        {
          channel,
          purpose: 'alert',
          recipient: channel === 'mail' ? 'you@example.com' : '',
          subject: saidText('Subject'),
          body: ['Text'],
          ...more,
        },
      ],
      sealing,
    ),
  );
const state = async () => (await listOutgoing(database.db, {})).items[0]!;
/** Kicks until the message is in the expected state. */
const until = async (holds: (message: Awaited<ReturnType<typeof state>>) => boolean, by = sender) =>
  waitFor(async () => {
    by.kick();
    const message = await state();
    return holds(message) && message;
  });
const sentBy = async () => until(({ status }) => status === 'sent');

describe('a message', () => {
  it('by mail arrives as text, from whom the operator says; no line of its subject becomes a header', async () => {
    await queue('mail', {
      subject: saidText('Hello\r\nBcc: all@example.com'),
      body: ['Grüße\n<b>no HTML</b>'],
    });
    expect(await sentBy()).toMatchObject({ attempts: 1, error: null });
    const [received] = mail.received;
    expect(received).toMatchObject({ from: 'alerts@example.com', to: ['you@example.com'] });
    expect(received!.raw).toMatch(/^From: Harbour <alerts@example.com>$/m);
    expect(received!.raw).toMatch(/^Subject: Hello Bcc: all@example.com$/m);
    expect(received!.raw).not.toMatch(/^Bcc:/m);
    expect(received!.raw).toMatch(/^Content-Type: text\/plain; charset=utf-8$/m);
    const { rows } = await database.pool.query('select body from outgoing_messages');
    expect(rows).toEqual([{ body: null }]);
  });

  it('to Slack mentions nobody, whatever names stand in it', async () => {
    await queue('slack', { body: ['the agent <!channel> & co'] });
    await sentBy();
    expect(posted[0]!.path).toBe('/slack');
    expect(JSON.parse(posted[0]!.body)).toEqual({ text: '*Subject*\nthe agent &lt;!channel&gt; &amp; co\n' });
  });

  it('to Telegram is cut to what it takes, and goes to the chat', async () => {
    await queue('telegram', { body: ['x'.repeat(9000)] });
    await sentBy();
    expect(posted[0]!.path).toBe('/bot123:abc/sendMessage');
    const { chat_id, text } = JSON.parse(posted[0]!.body) as { chat_id: string; text: string };
    expect([chat_id, text.length]).toEqual(['-100', 4000]);
  });

  it('to the webhook is signed as outbound webhooks are', async () => {
    const [row] = await queue('webhook', { payload: { type: 'alerts', alerts: [] } });
    await sentBy();
    const [{ headers, body }] = posted as [Posted];
    expect(JSON.parse(body)).toEqual({ id: row!.id, type: 'alerts', alerts: [] });
    expect(headers['x-service-signature']).toBe(
      hmacSha256Hex(SECRET, `${String(headers['x-service-timestamp'])}.${body}`),
    );
  });

  it('that is not taken is sent again, and says why it was not; no address with a secret is among the words', async () => {
    answer = 503;
    await queue('telegram');
    const failed = await until(({ error }) => error !== null);
    expect(failed).toMatchObject({ status: 'pending', attempts: 1, error: 'it answered 503' });
    answer = 200;
    await database.pool.query('update outgoing_messages set next_attempt_at = now()');
    expect(await sentBy()).toMatchObject({ attempts: 2, error: null });
  });

  it('whose address the mail server refuses for good is given up; for the moment, it waits', async () => {
    mail.refuseWith(550);
    await queue('mail');
    expect(await until(({ status }) => status === 'failed')).toMatchObject({
      error: expect.stringContaining('550'),
    });
    await database.pool.query('delete from outgoing_messages');
    mail.refuseWith(451);
    await queue('mail');
    expect(await until(({ error }) => error !== null)).toMatchObject({ status: 'pending' });
  });

  it('is sent once by two processes, and by the other where one dies with it in its hands', async () => {
    const { url } = mail;
    const other = open({ SERVICE_SMTP_URL: url, SERVICE_MAIL_FROM: 'b@example.com' });
    await queue('mail');
    // As if a process had claimed it and died.
    await database.pool.query(
      `update outgoing_messages set attempts = 1, next_attempt_at = now() + interval '30 s'`,
    );
    other.kick();
    sender.kick();
    expect(await state()).toMatchObject({ status: 'pending' });
    await database.pool.query(`update outgoing_messages set next_attempt_at = now() - interval '1 s'`);
    other.kick();
    await sentBy();
    expect(mail.received).toHaveLength(1);
    await other.stop();
  });

  it('that opens something lies sealed, and is given up where its key is gone', async () => {
    await queue('mail', { body: ['the token is xyzzy'] }, vault);
    const { rows } = await database.pool.query('select * from outgoing_messages');
    expect(JSON.stringify(rows)).not.toContain('xyzzy');
    await sentBy();
    expect(mail.received[0]!.raw).toContain('the token is xyzzy');
    await queue('mail', {}, new Vault(Buffer.alloc(32, 9)));
    expect(await until(({ status }) => status === 'failed')).toMatchObject({
      error: 'its text can no longer be opened',
    });
  });

  it('on a channel that is no longer set up is given up', async () => {
    const none = open({});
    await queue('slack');
    expect(await until(({ status }) => status === 'failed', none)).toMatchObject({
      error: 'the channel is no longer set up',
    });
    await none.stop();
  });
});
