/**
 * People in Slack and Telegram across two tiers: paired, answered, asked; with a scheduler killed in between.
 * @in-order whoever is paired at first talks, is told and asked, and leaves at the end
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Approval, Channel, Chat, ChatMessage, PairingCode } from '@acp/contract';
import {
  type FakeSlack,
  type FakeTelegram,
  type ServiceProcess,
  startFakeSlack,
  startFakeTelegram,
  waitFor,
} from '@acp/testkit';
import { randomBytes } from 'node:crypto';
import { createTeam, killScheduler, startTwoTiers, type TwoTiers } from './api.ts';

let tiers: TwoTiers;
let telegram: FakeTelegram & { token: string };
let slack: FakeSlack;
let scheduler: ServiceProcess;
let company_id: string;
let agents: { id: string; name: string }[];
const ADA = 77;

beforeAll(async () => {
  [telegram, slack] = [await startFakeTelegram(), await startFakeSlack()];
  tiers = await startTwoTiers('channels', {
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_TELEGRAM_API_URL: telegram.url,
    SERVICE_SLACK_API_URL: slack.url,
  });
  tiers.model.setScript(({ messages }) => `You said **${messages.at(-1)!.content.split('\n').at(-1)}**`);
  scheduler = await tiers.startScheduler();
  ({ company_id, agents } = await createTeam(tiers.api, ['Ada', 'Bob']));
  const { api } = tiers;
  const me = await api.call<{ id: string }>('GET', '/api/me');
  await api.send('POST', `/api/companies/${company_id}/members`, { user_id: me.id, role: 'admin' });
  const secrets = { TG: telegram.token, SLACK_BOT: slack.bot_token, SLACK_APP: slack.app_token };
  for (const [name, value] of Object.entries(secrets))
    await api.call('POST', `/api/companies/${company_id}/secrets`, { name, value });
});
afterAll(async () => {
  await tiers.stop();
  await Promise.all([telegram.close(), slack.close()]);
});

const channel = async (input: object): Promise<Channel> => {
  const made = await tiers.api.call<Channel>('POST', `/api/companies/${company_id}/channels`, input);
  return waitFor(async () => {
    const now = await tiers.api.call<Channel>('GET', `/api/channels/${made.id}`);
    return now.status === 'connected' ? now : undefined;
  });
};
const code = async ({ id }: Channel) => tiers.api.call<PairingCode>('POST', `/api/me/channels/${id}/code`);
const saidTo = (user: number) =>
  telegram.messages.filter(({ chat_id }) => chat_id === String(user)).map(({ text }) => text);
const approval = async (title: string) =>
  tiers.api.call<Approval>('POST', `/api/companies/${company_id}/approvals`, { type: 'action', title });

describe('a Telegram channel', () => {
  let made: Channel;

  it('connects, and pairs by a code whoever sends it; a stranger is told once what it is', async () => {
    made = await channel({
      name: 'telegram',
      kind: 'telegram',
      bot_token: '${secret:TG}',
      default_agent_id: agents[0]!.id,
    });
    expect(made.bot_name).toBe('fake_bot');
    const ready = await fetch(`${tiers.web.url}/readyz`);
    const { checks } = (await ready.json()) as { checks: { name: string; ok: boolean; detail?: string }[] };
    expect(checks.find(({ name }) => name === 'channel:telegram')).toMatchObject({
      ok: true,
      detail: expect.stringMatching(
        /^1 connected, 0 connecting, 0 failing, 0 refused; silent for \d+ s at most$/,
      ),
    });
    telegram.says(5, 'hello');
    telegram.says(5, 'hello?');
    await waitFor(() => saidTo(5).length === 1);
    telegram.says(5, 'ABCDEFGH');
    await waitFor(() => saidTo(5).length === 2);
    expect(saidTo(5)[0]).toContain('ask for a code in your profile');
    expect(saidTo(5)[1]).toContain('not known');

    const { code: given, link } = await code(made);
    expect(link).toBe(`https://t.me/fake_bot?start=${given}`);
    telegram.says(ADA, `/start ${given}`);
    await waitFor(() => saidTo(ADA).length === 1);
    expect(saidTo(ADA)[0]).toContain('You are paired');
    // The code can be used only once.
    telegram.says(6, given);
    await waitFor(() => saidTo(6).length === 1);
    expect(saidTo(6)[0]).toContain('not known');
  });

  it('passes words to an agent, and the agent’s to the person; another agent has a chat of its own', async () => {
    telegram.says(ADA, 'one');
    await waitFor(() => saidTo(ADA).includes('You said <b>one</b>'));
    telegram.says(ADA, '/agent bob');
    await waitFor(() => saidTo(ADA).includes('You are talking with <b>Bob</b> now.'));
    telegram.says(ADA, 'two');
    await waitFor(() => saidTo(ADA).includes('You said <b>two</b>'));
    const chats = await tiers.api.call<Chat[]>('GET', `/api/companies/${company_id}/chats`);
    expect(chats.map(({ agent_id, channel: held }) => [agent_id, held])).toEqual([
      [agents[1]!.id, 'telegram'],
      [agents[0]!.id, 'telegram'],
    ]);
  });

  it('keeps the files of a message, and says of what is too large that it was left out', async () => {
    telegram.files.set('small', Buffer.from('The plan.'));
    const document = {
      file_id: 'small',
      file_unique_id: 'small',
      file_name: 'plan.txt',
      mime_type: 'text/plain',
    };
    const before = saidTo(ADA).length;
    telegram.says(ADA, '', { text: undefined, caption: 'See this', document });
    await waitFor(() => saidTo(ADA).length > before);
    expect(JSON.stringify(tiers.model.requests.at(-1))).toContain('The plan.');
    telegram.says(ADA, '', { text: undefined, document: { ...document, file_size: 1e9 } });
    await waitFor(() => saidTo(ADA).some((text) => text.includes('too large')));
    const [chat] = await tiers.api.call<Chat[]>('GET', `/api/companies/${company_id}/chats`);
    const messages = await tiers.api.call<ChatMessage[]>('GET', `/api/chats/${chat!.id}/messages`);
    const [file] = messages.flatMap(({ attachments }) => attachments);
    expect(file).toMatchObject({ filename: 'plan.txt', size_bytes: 9 });
  });

  it('tells a prompt nothing of the company’s knowledge but what an admin has ticked', async () => {
    const { api, model, web } = tiers;
    await api.call('POST', `/api/companies/${company_id}/notes`, {
      title: 'Lighthouse',
      body_markdown: 'The lighthouse keeper is called Fredegund.',
    });
    const found = async () =>
      api.call<unknown[]>('GET', `/api/companies/${company_id}/knowledge/search?q=lighthouse+keeper`);
    await waitFor(async () => (await found()).length > 0);
    const prompt = () => JSON.stringify(model.requests.at(-1));
    telegram.says(ADA, 'Who is the lighthouse keeper?');
    await waitFor(() => saidTo(ADA).includes('You said <b>Who is the lighthouse keeper?</b>'));
    expect(prompt()).not.toContain('Fredegund');
    await fetch(`${web.url}/channels/${made.id}/knowledge`, {
      method: 'POST',
      headers: { cookie: api.cookie },
      body: new URLSearchParams({ note: 'on' }),
      redirect: 'manual',
    });
    telegram.says(ADA, 'Once more: who is the lighthouse keeper?');
    await waitFor(() => saidTo(ADA).includes('You said <b>Once more: who is the lighthouse keeper?</b>'));
    expect(prompt()).toContain('Fredegund');
  });

  it('asks for a decision with buttons, which count once and for the version that was shown', async () => {
    await tiers.api.call('PUT', `/api/me/channels/${made.id}/notify`, { notify: ['approvals'] });
    const { id } = await approval('Buy paint');
    const asked = await waitFor(() => telegram.messages.find(({ text }) => text.includes('Buy paint')));
    telegram.presses(ADA, asked.message_id, 'Approve');
    telegram.presses(ADA, asked.message_id, 'Approve');
    telegram.presses(5, asked.message_id, 'Reject');
    await waitFor(() => !asked.reply_markup);
    expect(asked.text).toContain('approved by');
    const resolved = await tiers.api.call<Approval>('GET', `/api/approvals/${id}`);
    expect(resolved.status).toBe('approved');
    await waitFor(() => telegram.calls.filter(({ method }) => method === 'answerCallbackQuery').length === 3);
    const answers = telegram.calls.filter(({ method }) => method === 'answerCallbackQuery');
    expect(answers.map(({ body }) => body.text)).toEqual([
      'Approved.',
      'It is approved already.',
      'You are not paired.',
    ]);
  });

  it('waits as long as the vendor wants, and sends a long text in pieces, in order', async () => {
    telegram.refuse('sendMessage', 429, { description: 'Too Many Requests', parameters: { retry_after: 1 } });
    const words = 'word '.repeat(1500);
    tiers.model.setScript(() => words);
    telegram.says(ADA, 'long');
    await waitFor(() => saidTo(ADA).filter((text) => text.startsWith('word')).length === 2);
    const pieces = saidTo(ADA).filter((text) => text.startsWith('word'));
    expect(pieces.every((piece) => piece.length <= 4096)).toBe(true);
    expect(pieces.join(' ').split('word')).toHaveLength(1501);
  });

  it('whose scheduler is killed is taken over by another: nothing is lost, and nothing said twice that was noted as said', async () => {
    tiers.model.setScript(({ messages }) => `Answer to ${messages.at(-1)!.content.split('\n').at(-1)}`);
    // Until it is recorded as sent: otherwise it would be sent again, which is the price of losing none.
    const recorded = async (text: string) => {
      await waitFor(() => saidTo(ADA).includes(text));
      await waitFor(async () => {
        const { rows } = await tiers.db.database.pool.query(
          `select from channel_outbox where status = 'pending'`,
        );
        return rows.length === 0;
      });
    };
    telegram.says(ADA, 'before');
    await recorded('Answer to before');
    const holder = async () => {
      const { rows } = await tiers.db.database.pool.query<{ held_by: string; fence: string }>(
        'select held_by, fence from channels where id = $1',
        [made.id],
      );
      return rows[0]!;
    };
    const held = await holder();
    // Another scheduler stands by: it does not contact the vendor while the first one is alive.
    const second = await tiers.startScheduler();
    telegram.says(ADA, 'with two');
    await recorded('Answer to with two');
    expect(await holder()).toEqual(held);
    await killScheduler(tiers.db, scheduler);
    telegram.says(ADA, 'during');
    scheduler = second;
    telegram.says(ADA, 'after');
    await waitFor(() => saidTo(ADA).includes('Answer to after'));
    const taken = await holder();
    expect([taken.held_by !== held.held_by, Number(taken.fence)]).toEqual([true, Number(held.fence) + 1]);
    for (const word of ['before', 'with two', 'during', 'after'])
      expect(saidTo(ADA).filter((text) => text === `Answer to ${word}`)).toHaveLength(1);
    const [, chat] = await tiers.api.call<Chat[]>('GET', `/api/companies/${company_id}/chats`);
    expect(chat).toBeDefined();
  });

  it('stops speaking with who has ended the pairing', async () => {
    await tiers.api.send('DELETE', `/api/me/channels/${made.id}`);
    const before = saidTo(ADA).length;
    telegram.says(ADA, 'still there?');
    await waitFor(() => saidTo(ADA).length === before + 1);
    expect(saidTo(ADA).at(-1)).toContain('ask for a code');
    expect(telegram.complaints).toEqual([]);
  });
});

describe('a Slack channel', () => {
  const said = () => slack.messages.map(({ text, channel: to, thread_ts }) => [to, thread_ts, text]);

  it('talks in direct messages and in threads of channels that are allowed; each thread is a chat', async () => {
    tiers.model.setScript(({ messages }) => `You said **${messages.at(-1)!.content.split('\n').at(-1)}**`);
    const made = await channel({
      name: 'slack',
      kind: 'slack',
      bot_token: '${secret:SLACK_BOT}',
      app_token: '${secret:SLACK_APP}',
      default_agent_id: agents[0]!.id,
      groups: ['C1'],
    });
    slack.says('UADA', (await code(made)).code);
    await waitFor(() => slack.messages.some(({ text }) => text.includes('You are paired')));
    slack.says('UADA', 'direct');
    await waitFor(() => said().some(([, , text]) => text === 'You said *direct*'));
    slack.repeat();
    const mention = { type: 'app_mention', channel_type: 'channel', ts: '1800000000.000001' };
    slack.says('UADA', '<@UBOT> in public', { ...mention, channel: 'C1' });
    slack.says('UADA', '<@UBOT> elsewhere', { ...mention, channel: 'C2' });
    await waitFor(() => said().some(([, , text]) => text === 'You said *in public*'));
    expect(said().slice(1)).toEqual([
      ['DUADA', undefined, 'You said *direct*'],
      ['C1', '1800000000.000001', 'You said *in public*'],
    ]);
    const { refused_groups } = await tiers.api.call<Channel>('GET', `/api/channels/${made.id}`);
    expect(refused_groups).toEqual([{ id: 'C2', title: 'C2' }]);
    const chats = await tiers.api.call<Chat[]>('GET', `/api/companies/${company_id}/chats`);
    expect(chats.filter(({ channel: held }) => held === 'slack')).toHaveLength(2);

    await tiers.api.call('PUT', `/api/me/channels/${made.id}/notify`, { notify: ['approvals'] });
    const { id } = await approval('Paint the wall');
    const asked = await waitFor(() => slack.messages.find(({ text }) => text.includes('Paint the wall')));
    // Another connection takes over, as Slack demands every hour or so.
    slack.disconnect();
    await waitFor(() => slack.calls.filter(({ method }) => method === 'apps.connections.open').length >= 2);
    slack.presses('UADA', asked.ts, 'Reject');
    await waitFor(() => asked.text.includes('rejected by'));
    expect((await tiers.api.call<Approval>('GET', `/api/approvals/${id}`)).status).toBe('rejected');
    expect(slack.complaints).toEqual([]);
    const [first] = chats;
    const messages = await tiers.api.call<ChatMessage[]>('GET', `/api/chats/${first!.id}/messages`);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  it('shows a reply as it grows; if its scheduler is killed, another one completes the same message', async () => {
    // Longer than what is held back because it might begin a secret.
    const filler = ' a word'.repeat(40);
    const chunks = [`Once upon **a time** there was${filler}`, filler, filler, ' and an end.'];
    tiers.model.setScript(() => ({ chunks, chunk_delay_ms: 1500 }));
    const second = await tiers.startScheduler();
    slack.says('UADA', 'tell me a tale');
    const grown = await waitFor(() =>
      slack.messages.find(({ text }) => text.startsWith('Once upon *a time* there')),
    );
    // Slack has no way to send a message at most once: until its id is recorded, another holder would send it again.
    await waitFor(async () => {
      const { rows } = await tiers.db.database.pool.query('select from channel_drafts');
      return rows.length === 1;
    });
    await killScheduler(tiers.db, scheduler);
    scheduler = second;
    await waitFor(() => grown.text.endsWith('an end.'), { timeout_ms: 60_000 });
    expect(slack.messages.filter(({ text }) => text.startsWith('Once'))).toEqual([grown]);
    expect(slack.complaints).toEqual([]);
  });
});
