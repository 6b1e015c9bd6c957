import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ChannelKind } from '@acp/contract';
import {
  type ChannelHold,
  claimChannels,
  createChannel,
  type NewRunEvent,
  nextIncoming,
  pairIdentity,
  readGrowth,
  receive,
  storeIncoming,
  storeRunEvents,
} from '@acp/core';
import { schema, transaction } from '@acp/db';
import * as kit from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import type { ChannelLink } from './channel-link.ts';
import type { WorkerParts } from './channel-parts.ts';
import { GrowthWorker } from './growth-worker.ts';
import { LiveTexts } from './live-texts.ts';
import { OutgoingWorker } from './outgoing-worker.ts';
import { Pace } from './pace.ts';
import { Slack } from './slack.ts';
import { Telegram } from './telegram.ts';

const { channel_drafts, channel_outbox, channels, chat_messages, chats, chat_pairings, heartbeat_runs } =
  schema;

let vendor: { telegram: kit.FakeTelegram & { token: string }; slack: kit.FakeSlack };
let over: AbortController;
let running: { stop(): Promise<void> }[];
beforeEach(async () => {
  vendor = { telegram: await kit.startFakeTelegram(), slack: await kit.startFakeSlack() };
  over = new AbortController();
  running = [];
  const { database } = await kit.testDatabase();
  await kit.databaseWithQueue();
  await database.db.update(channels).set({ enabled: false });
});
afterEach(async () => {
  over.abort();
  await Promise.all(running.map(async (each) => each.stop()));
  const complaints = [...vendor.telegram.complaints, ...vendor.slack.complaints];
  await Promise.all([vendor.telegram.close(), vendor.slack.close()]);
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
});

/** A person's question, to be answered in a conversation by a run that this test writes the transcript of. */
async function ask(kind: ChannelKind, conversation: string, thread = '') {
  const test = await kit.testDatabase();
  const { database } = test;
  const { db } = database;
  const company = await kit.createCompany(db);
  await kit.createAgent(db, company);
  const user = await kit.createUser(db);
  await kit.createMembership(db, company, user, 'member');
  const tokens = { bot_token: '${secret:B}', ...(kind === 'slack' && { app_token: '${secret:A}' }) };
  const { id: channel_id } = await transaction(database, async (tx) => {
    const made = await createChannel(tx, kit.actors.system, company.id, {
      name: 'chat',
      kind,
      groups: [conversation],
      ...tokens,
    });
    const pairing = { channel_id: made.id, company_id: company.id, channel: kind, user_id: user.id };
    await pairIdentity(tx, { ...pairing, external_id: '77', external_name: 'A person' });
    return made;
  });
  const claim = async (held_by: string): Promise<ChannelHold> => {
    await db.update(channels).set({ lease_until: new Date(0) });
    const [row] = await transaction(database, async (tx) => claimChannels(tx, held_by, 15, 1));
    return { channel_id, held_by, fence: row!.fence };
  };
  const hold = await claim('one');
  const incoming = {
    kind: 'message' as const,
    external_id: '1',
    person: { id: '77', name: 'A person' },
    conversation,
    thread,
    title: '',
    is_private: conversation === '77',
    message_id: '1',
    text: 'Tell me',
    files: [],
    press: null,
  };
  await transaction(database, async (tx) => storeIncoming(tx, hold, [incoming]));
  const stored = await nextIncoming(db, hold);
  await transaction(database, async (tx) => receive(tx, hold, stored!, [], []));
  const [question] = await db
    .select({ id: chat_messages.id, chat_id: chat_messages.chat_id, run_id: chat_messages.run_id })
    .from(chat_messages)
    .innerJoin(chats, eq(chats.id, chat_messages.chat_id))
    .where(eq(chats.channel_id, channel_id));
  const run_id = question!.run_id!;
  await db
    .update(heartbeat_runs)
    .set({ status: 'running', fence: 1, started_at: new Date() })
    .where(eq(heartbeat_runs.id, run_id));
  let seq = 1;
  const audience = { topic: null, admins_only: false, private_to_user_id: user.id };
  const lease = { run_id, company_id: company.id, fence: 1, audience };
  const write = async (event: NewRunEvent): Promise<void> => {
    const item = await storeRunEvents(db, { lease, first_seq: seq, events: [event] });
    seq += 1;
    test.notifier.push('transcripts', [item!]);
  };
  const asked = { channel_id, run_id, question_id: question!.id, user_id: user.id, conversation, thread };
  return {
    ...asked,
    claim,
    hold,
    says: async (text: string) => write({ kind: 'output', payload: { text } }),
    acts: async () => write({ kind: 'action', payload: { verb: 'status', ok: true } }),
    /** @param text of the reply; null: there is none */
    async ends(text: string | null): Promise<void> {
      const place = { company_id: company.id, chat_id: question!.chat_id };
      await db.update(chat_messages).set({ status: 'answered' }).where(eq(chat_messages.id, question!.id));
      const [reply] =
        text === null
          ? []
          : await db
              .insert(chat_messages)
              .values({
                ...place,
                position: 3,
                role: 'assistant',
                body_markdown: text,
                author_name: 'A',
                status: 'answered',
              })
              .returning();
      const { question_id, run_id: _, ...to } = asked;
      await db.insert(channel_outbox).values({
        ...to,
        kind: text === null ? 'notice' : 'reply',
        dedupe_key: 'reply',
        question_id,
        ...(reply ? { chat_message_id: reply.id } : { body: 'There is no reply.' }),
      });
    },
    drafts: async () => db.select().from(channel_drafts).where(eq(channel_drafts.question_id, question!.id)),
    state: async () => {
      const rows = await db.select().from(channel_outbox).where(eq(channel_outbox.channel_id, channel_id));
      return rows[0]?.status;
    },
    unpair: async () => db.update(chat_pairings).set({ revoked_at: sql`now()` }),
  };
}
type Asked = Awaited<ReturnType<typeof ask>>;

/** What a scheduler runs of a channel, at a test's pace. */
async function scheduler({ hold }: Pick<Asked, 'hold'>, kind: ChannelKind, step_ms = 20) {
  const { database, listener } = await kit.testDatabase();
  const logger = kit.testLogger();
  const [channel] = await database.db.select().from(channels).where(eq(channels.id, hold.channel_id));
  const config = {
    telegram_api_url: vendor.telegram.url,
    slack_api_url: vendor.slack.url,
    attachment_max_upload_bytes: 1000,
  };
  const link: ChannelLink =
    kind === 'slack'
      ? new Slack(config, { bot_token: vendor.slack.bot_token, app_token: vendor.slack.app_token }, null)
      : new Telegram(config, vendor.telegram.token, null);
  Object.assign(link, { limits: { ...link.limits, step_ms: () => step_ms, between_ms: 0 } });
  const texts = new LiveTexts({ database, listener, logger });
  const pace = new Pace(50);
  const parts = { database, logger, config, texts, hold, channel: channel!, signal: over.signal, pace };
  // Neither reads files or secrets.
  const growth = new GrowthWorker(parts as unknown as WorkerParts & { pace: Pace });
  const outgoing = new OutgoingWorker({
    ...(parts as unknown as WorkerParts),
    pace,
    settle: async (id) => growth.settle(id),
  });
  growth.use(link);
  outgoing.use(link);
  growth.kick();
  await listener.ready();
  const stop = async (): Promise<void> => {
    await Promise.all([growth.stop(), outgoing.stop()]);
    await texts.stop();
  };
  running.push({ stop });
  return { growth, outgoing, stop };
}

const texts = () => vendor.telegram.messages.map(({ text }) => text);
const called = (method: string) => vendor.telegram.calls.filter((call) => call.method === method);
const GROUP = '-100';

describe('a reply in private Telegram', () => {
  it('is announced by typing, shown as it grows, and sent once', async () => {
    const asked = await ask('telegram', '77');
    const { outgoing } = await scheduler(asked, 'telegram');
    await kit.waitFor(() => called('sendChatAction').length > 0);
    await asked.says('**Plan');
    await kit.waitFor(() => vendor.telegram.drafts.get('77')?.text === '**Plan');
    await asked.says(' A**\n/status done\nand');
    await kit.waitFor(() => vendor.telegram.drafts.get('77')?.text === '<b>Plan A</b>\nand');
    expect(new Set(called('sendMessageDraft').map(({ body }) => body.draft_id)).size).toBe(1);
    expect(texts()).toEqual([]);
    await asked.ends('**Plan A**\nand B');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(texts()).toEqual(['<b>Plan A</b>\nand B']);
  });

  it('too long for one message is sent part by part, and no part twice', async () => {
    const asked = await ask('telegram', '77');
    const { outgoing } = await scheduler(asked, 'telegram');
    const words = (count: number) => 'word '.repeat(count);
    await asked.says(words(1000));
    await kit.waitFor(() => texts().length === 1);
    await kit.waitFor(() => vendor.telegram.drafts.has('77'));
    expect(await asked.drafts()).toMatchObject([
      { parts: [String(vendor.telegram.messages[0]!.message_id)] },
    ]);
    await asked.ends(words(1200));
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(texts()).toHaveLength(2);
    expect(texts().join(' ').split('word')).toHaveLength(1201);
    expect(await asked.drafts()).toEqual([]);
  });

  it('is shown by edits where the server has no previews', async () => {
    const asked = await ask('telegram', '77');
    vendor.telegram.refuse('sendMessageDraft', 404, { description: 'Not Found: method not found' });
    await scheduler(asked, 'telegram');
    await asked.says('One');
    await kit.waitFor(() => texts().includes('One …'));
    await asked.says(' two');
    await kit.waitFor(() => texts().includes('One two …'));
    expect(called('sendMessageDraft')).toHaveLength(1);
  });

  it('is shown no further to a person whose pairing has ended', async () => {
    const asked = await ask('telegram', '77');
    const { outgoing } = await scheduler(asked, 'telegram');
    await asked.says('One');
    await kit.waitFor(() => vendor.telegram.drafts.get('77')?.text === 'One');
    await asked.unpair();
    await asked.says(' secret');
    const { database } = await kit.testDatabase();
    expect(await readGrowth(database.db, [{ ...asked, after: 0 }])).toEqual(new Map());
    await asked.ends('One secret');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'failed');
    expect(vendor.telegram.drafts.get('77')?.text).toBe('One');
    expect(texts()).toEqual([]);
  });
});

describe('a reply in a group', () => {
  it('grows in one message, which another scheduler completes', async () => {
    const asked = await ask('telegram', GROUP);
    const first = await scheduler(asked, 'telegram');
    await asked.says('```ts\nconst a');
    await kit.waitFor(() => texts().includes('<pre>const a</pre> …'));
    await kit.waitFor(async () => (await asked.drafts()).length === 1);
    await first.stop();
    const second = await scheduler({ hold: await asked.claim('two') }, 'telegram');
    await asked.says(' = 1;\n```');
    await kit.waitFor(() => texts().includes('<pre>const a = 1;</pre> …'));
    await asked.ends('```ts\nconst a = 1;\n```\nDone.');
    second.outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(texts()).toEqual(['<pre>const a = 1;</pre>\n\nDone.']);
  });

  it('is complete even if the message it grew in was deleted, or the vendor wants silence', async () => {
    const asked = await ask('telegram', GROUP);
    const { outgoing } = await scheduler(asked, 'telegram');
    await asked.says('One');
    await kit.waitFor(() => texts().includes('One …'));
    const silence = { description: 'Too Many Requests', parameters: { retry_after: 1 } };
    vendor.telegram.refuse('editMessageText', 429, silence);
    const from = performance.now();
    await asked.says(' two');
    await kit.waitFor(() => called('editMessageText').length === 1);
    await kit.waitFor(() => texts().includes('One two …'));
    expect(performance.now() - from).toBeGreaterThan(950);
    vendor.telegram.messages.length = 0;
    await asked.ends('One two three');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(texts()).toEqual(['One two three']);
  });

  it('that the vendor refuses to show is shown no further, and still arrives', async () => {
    const asked = await ask('telegram', GROUP);
    const { outgoing } = await scheduler(asked, 'telegram');
    await asked.says('One');
    await kit.waitFor(() => texts().includes('One …'));
    for (let at = 0; at < 3; at += 1) vendor.telegram.refuse('editMessageText', 500, {});
    await asked.says(' two');
    await kit.waitFor(() => called('editMessageText').length === 3);
    await asked.says(' three');
    await asked.ends('One two three');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(called('editMessageText')).toHaveLength(4);
    expect(texts()).toEqual(['One two three']);
  });

  it('that failed is replaced by the reason', async () => {
    const asked = await ask('telegram', GROUP);
    const { outgoing } = await scheduler(asked, 'telegram');
    await asked.says('Half a');
    await kit.waitFor(() => texts().includes('Half a …'));
    await asked.ends(null);
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(texts()).toEqual(['There is no reply.']);
  });
});

describe('a reply in Slack', () => {
  const said = () => vendor.slack.messages.map(({ text }) => text);
  const methods = () => vendor.slack.calls.map(({ method }) => method);

  it('in a thread is announced by a status, and grows within what an edit may hold', async () => {
    const asked = await ask('slack', 'C1', '1.1');
    const { outgoing } = await scheduler(asked, 'slack');
    await kit.waitFor(() => methods().includes('assistant.threads.setStatus'));
    await asked.says(`*a*${' & b'.repeat(1000)}`);
    await kit.waitFor(() => said().length === 2);
    await asked.ends('_Short_, after all');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(said()).toEqual(['_Short_, after all']);
    expect(methods()).toContain('chat.delete');
  });

  it('in a direct message is announced by the message that it then grows in', async () => {
    const asked = await ask('slack', '77');
    const { outgoing } = await scheduler(asked, 'slack');
    await kit.waitFor(() => said().includes('…'));
    await asked.says('One');
    await kit.waitFor(() => said().includes('One …'));
    await asked.ends('One two');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(said()).toEqual(['One two']);
    expect(methods().filter((method) => method === 'chat.postMessage')).toHaveLength(1);
  });

  it('with links is sent anew at its end, as edits can’t keep Slack from fetching them', async () => {
    const asked = await ask('slack', 'C1', '1.1');
    const { outgoing } = await scheduler(asked, 'slack');
    await asked.says('One');
    await kit.waitFor(() => said().includes('One …'));
    await asked.says(' [page](https://evil.example/?q=1)');
    await kit.waitFor(() => said().includes('One page (https://evil.example/?q=1) …'));
    await asked.ends('One [page](https://evil.example/?q=1)');
    outgoing.kick();
    await kit.waitFor(async () => (await asked.state()) === 'sent');
    expect(said()).toEqual(['One <https://evil.example/?q=1|page>']);
    const edits = vendor.slack.calls.filter(({ method }) => method === 'chat.update');
    expect(edits.filter(({ body }) => String(body.text).includes('<'))).toEqual([]);
  });
});
