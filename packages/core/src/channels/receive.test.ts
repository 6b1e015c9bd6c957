import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ChannelIncoming, CompanyRole, UserActor } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createMembership,
  createSession,
  createUser,
  databaseWithQueue,
} from '@acp/testkit';
import { and, asc, eq, sql } from 'drizzle-orm';
import { createApproval } from '../approvals/index.ts';
import { deleteMembership } from '../companies/index.ts';
import { pairIdentity, changeUser } from '../identity/index.ts';
import {
  buttonValue,
  type ChannelHold,
  claimChannels,
  createChannel,
  dueOutgoing,
  presentMessage,
  recordChanges,
  fanOutToChannels,
  createPairingCode,
  nextIncoming,
  receive,
  recordOutcome,
  recordPiece,
  releaseChannel,
  renewChannels,
  storeIncoming,
  updateChannel,
  findChannel,
} from '../index.ts';

const { approvals, channel_inbox, channel_outbox, channels, chat_messages, chats } = schema;

let database: Database;
let company: Awaited<ReturnType<typeof createCompany>>;
let hold: ChannelHold;
let channel_id: string;
const db = () => database.db;
const inTx = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);

beforeEach(async () => {
  database = await databaseWithQueue();
  // `claimChannels` claims every channel there is.
  await db().update(channels).set({ enabled: false });
  company = await createCompany(db());
  const made = await inTx((tx) =>
    createChannel(tx, actors.system, company.id, {
      name: 'telegram',
      kind: 'telegram',
      bot_token: '${secret:T}',
      groups: ['-1'],
    }),
  );
  channel_id = made.id;
  hold = await claim('one');
});

async function claim(held_by: string): Promise<ChannelHold> {
  const [row] = await inTx((tx) => claimChannels(tx, held_by, 15, 5));
  return { channel_id, held_by, fence: row?.fence ?? -1 };
}

async function person(role: CompanyRole, external_id: string): Promise<UserActor> {
  const user = await createUser(db());
  await createMembership(db(), company, user, role);
  await inTx((tx) =>
    pairIdentity(tx, {
      channel_id,
      company_id: company.id,
      channel: 'telegram',
      user_id: user.id,
      external_id,
      external_name: 'A person',
    }),
  );
  return actors.user(user, { [company.id]: role });
}

/** The code of a new member of the company. */
async function pairingCode(): Promise<string> {
  const user = await createUser(db());
  await createMembership(db(), company, user, 'member');
  const session = await createSession(db(), user);
  const actor = { ...actors.user(user, { [company.id]: 'member' }), session_id: session.id };
  return (await inTx((tx) => createPairingCode(tx, actor, channel_id))).code;
}

let count = 0;
const words = (from: string, text: string, more: Partial<ChannelIncoming> = {}): ChannelIncoming => ({
  kind: 'message',
  external_id: String((count += 1)),
  person: { id: from, name: 'A person' },
  conversation: from,
  thread: '',
  title: '',
  is_private: true,
  message_id: '1',
  text,
  files: [],
  press: null,
  ...more,
});

/** Stores incoming messages and handles them. @returns the answer to a pressed button */
async function hear(...came: ChannelIncoming[]): Promise<string | null> {
  await inTx((tx) => storeIncoming(tx, hold, came));
  let answered: string | null = null;
  for (let next = await nextIncoming(db(), hold); next !== undefined; next = await nextIncoming(db(), hold)) {
    const stored = next;
    const received = await inTx((tx) => receive(tx, hold, stored, [], []));
    answered = received?.callback?.text ?? null;
  }
  return answered;
}

const said = async () =>
  (
    await db()
      .select()
      .from(channel_outbox)
      .where(eq(channel_outbox.channel_id, channel_id))
      .orderBy(asc(channel_outbox.seq))
  ).map(({ body }) => body);

const chatsHere = async () => db().select().from(chats).where(eq(chats.company_id, company.id));

describe('a stranger', () => {
  it('is told once what the bot is; in a group, nothing', async () => {
    await hear(
      words('5', 'hi'),
      words('5', 'hi again'),
      words('6', 'hi', { is_private: false, conversation: '-1' }),
    );
    expect(await said()).toEqual([expect.stringContaining('ask for a code')]);
  });

  it('has five tries with codes; then even the right one counts no more', async () => {
    const code = await pairingCode();
    for (let at = 0; at < 7; at += 1) await hear(words('5', 'ABCDEFGH'));
    await hear(words('5', code));
    expect((await said()).filter((text) => text?.includes('paired'))).toEqual([]);
    expect((await said()).filter((text) => text?.includes('one try too many'))).toHaveLength(1);
    await hear(words('6', code));
    expect((await said()).at(-1)).toContain('You are paired');
  });

  it('gets no more tries by pairing in a channel of another company', async () => {
    const code = await pairingCode();
    for (let at = 0; at < 5; at += 1) await hear(words('5', 'ABCDEFGH'));
    const [first, here] = [{ company, channel_id, hold }, code];
    company = await createCompany(db());
    const elsewhere = { name: 'theirs', kind: 'telegram', bot_token: '${secret:T}' } as const;
    ({ id: channel_id } = await inTx((tx) => createChannel(tx, actors.system, company.id, elsewhere)));
    hold = await claim('two');
    await hear(words('5', await pairingCode()));
    expect(await said()).toEqual([expect.stringContaining('You are paired')]);
    ({ company, channel_id, hold } = first);
    await hear(words('5', here));
    expect((await said()).at(-1)).toContain('one try too many');
  });

  it('who sends a code that has run out is not paired', async () => {
    await hear(words('5', 'ABCDEFGH'));
    expect(await said()).toEqual([expect.stringContaining('not known')]);
  });
});

describe('a paired person', () => {
  it('who is a viewer is told so, and begins no chat', async () => {
    await createAgent(db(), company);
    await person('viewer', '7');
    await hear(words('7', 'hello'));
    expect(await said()).toEqual([expect.stringContaining('may read')]);
    expect(await chatsHere()).toEqual([]);
  });

  it('is told that the pairing has ended, by the last message there is', async () => {
    await person('member', '7');
    await hear(words('7', '!unpair'), words('7', 'hello'));
    expect((await said())[0]).toContain('not paired any more');
    expect(await inTx((tx) => dueOutgoing(tx, hold, 9))).toMatchObject([
      { allowed: true },
      { body: expect.stringContaining('ask for a code') },
    ]);
    expect(await chatsHere()).toEqual([]);
  });

  it('speaks to the only agent there is, in a private chat of the channel; a message that comes twice counts once', async () => {
    const agent = await createAgent(db(), company);
    const { user_id } = await person('member', '7');
    const message = words('7', 'hello');
    await hear(message);
    await hear(message);
    const rows = await chatsHere();
    expect(rows).toMatchObject([
      { agent_id: agent.id, created_by_user_id: user_id, channel: 'telegram', channel_id, last_turn: 1 },
    ]);
  });

  it('chooses any agent by its name, also one that the list of fifty has no room for', async () => {
    for (let at = 0; at < 51; at += 1) await createAgent(db(), company, { name: `Agent ${at}` });
    const [last, longer] = [
      await createAgent(db(), company, { name: 'Zoë' }),
      await createAgent(db(), company, { name: 'Zoë the Second' }),
    ];
    await createAgent(db(), company, { name: 'Zora', status: 'terminated' });
    await person('member', '7');
    await hear(words('7', '!agent ZOË'), words('7', 'hello'));
    await hear(words('7', '!agent zoë the'), words('7', 'hello'));
    expect(new Set((await chatsHere()).map(({ agent_id }) => agent_id))).toEqual(
      new Set([last.id, longer.id]),
    );
    await hear(words('7', '!agent Zora'), words('7', '!agent'));
    expect((await said()).slice(-2)).toEqual(Array(2).fill(expect.stringContaining('no such agent')));
  });

  it('without an agent is told what hinders, and nothing is left behind', async () => {
    await person('member', '7');
    await hear(words('7', 'hello'));
    expect(await said()).toEqual([expect.stringContaining('choose an agent first')]);
    expect(await chatsHere()).toEqual([]);
  });

  it('who has left the company, or is deactivated, is a stranger', async () => {
    await createAgent(db(), company);
    const [gone, inactive] = [await person('member', '7'), await person('member', '8')];
    await inTx((tx) => deleteMembership(tx, actors.system, company.id, gone.user_id));
    await inTx((tx) => changeUser(tx, actors.system, inactive.user_id, { is_active: false }));
    await hear(words('7', 'hello'), words('8', 'hello'));
    expect(await chatsHere()).toEqual([]);
    expect(await said()).toHaveLength(2);
  });

  it('is heard in groups that are allowed alone; the others are remembered', async () => {
    await createAgent(db(), company);
    await person('member', '7');
    const group = (conversation: string, title: string) =>
      words('7', 'hello', { conversation, title, is_private: false });
    await hear(group('-1', 'Ours'), group('-2', 'Theirs'), group('-2', 'Theirs'));
    expect(await chatsHere()).toHaveLength(1);
    expect((await findChannel(db(), channel_id))?.refused_groups).toEqual([{ id: '-2', title: 'Theirs' }]);
  });
});

async function publish(): Promise<void> {
  await db().execute('select sequence_outbox(1000)');
  await inTx((tx) => fanOutToChannels(tx, 'http://localhost'));
}

describe('an approval in a channel', () => {
  async function asked(title: string) {
    const approval = await inTx((tx) =>
      createApproval(tx, actors.system, company.id, { type: 'action', title }),
    );
    await publish();
    const shown = await db()
      .select()
      .from(channel_outbox)
      .where(and(eq(channel_outbox.approval_id, approval.id), eq(channel_outbox.kind, 'approval')));
    return { approval, shown };
  }

  const press = async (from: string, id: string, decision: 'approve' | 'reject' = 'approve') =>
    hear(words(from, '', { kind: 'press', press: { value: buttonValue(id, decision), callback: 'x' } }));

  async function wants(actor: UserActor): Promise<void> {
    await db()
      .update(schema.chat_pairings)
      .set({ notify: ['approvals', 'attention', 'alerts'] })
      .where(eq(schema.chat_pairings.user_id, actor.user_id));
  }

  it('is shown to members who want it, and decided by who was shown it alone, as it was', async () => {
    const [member, viewer, other] = [
      await person('member', '7'),
      await person('viewer', '8'),
      await person('admin', '9'),
    ];
    await wants(member);
    await wants(viewer);
    const { approval, shown } = await asked('Buy *paint* <b>now</b>');
    expect(shown).toMatchObject([{ user_id: member.user_id, conversation: '7' }]);
    expect(shown[0]?.body).toContain(String.raw`Buy \*paint\* \<b\>now\</b\>`);
    const { id } = shown[0]!;
    expect(await press('9', id)).toContain('can’t be decided');
    expect(other.user_id).not.toBe(member.user_id);
    await db()
      .update(approvals)
      .set({ title: 'Buy a house', updated_at: new Date(Date.now() + 1000) })
      .where(eq(approvals.id, approval.id));
    expect(await press('7', id)).toContain('changed since it was shown');
    const [row] = await db().select().from(approvals).where(eq(approvals.id, approval.id));
    expect(row?.status).toBe('pending');
  });

  it('is not decided there if the message does not show all of it: what it asks for may stand at its end', async () => {
    await wants(await person('admin', '7'));
    const hire = { name: 'QA', description: 'Tests. '.repeat(400), adapter_config: { image: 'theirs' } };
    const long = { title: 'Plan', description: `Buy paint.${' '.repeat(3000)}And a house.` };
    for (const request of [
      { type: 'hire_agent', title: 'Hire QA', payload: hire } as const,
      { type: 'action', ...long } as const,
    ]) {
      const { id } = await inTx((tx) => createApproval(tx, actors.system, company.id, request));
      await publish();
      const rows = await db()
        .select()
        .from(channel_outbox)
        .where(sql`${channel_outbox.dedupe_key} like ${`approval:${id}:%`}`);
      expect(rows).toMatchObject([{ kind: 'notice', approval_id: null }]);
      expect(rows[0]!.body).toContain('too long to be decided here');
      expect(rows[0]!.body).not.toMatch(/theirs|house/);
      expect(await press('7', rows[0]!.id)).toContain('can’t be decided');
    }
  });

  it('is not decided by a member who is a viewer by now, nor by a made-up button', async () => {
    const member = await person('member', '7');
    await wants(member);
    const { shown } = await asked('Buy paint');
    await db()
      .update(schema.memberships)
      .set({ role: 'viewer' })
      .where(eq(schema.memberships.user_id, member.user_id));
    expect(await press('7', shown[0]!.id)).toContain('may not decide');
    expect(await press('7', newId())).toContain('can’t be decided');
    expect(await press('7', "' or 1=1")).toContain('can’t be decided');
  });

  it('decided elsewhere has its buttons taken away', async () => {
    const member = await person('member', '7');
    await wants(member);
    const { shown } = await asked('Buy paint');
    const { id } = shown[0]!;
    const kinds = async () => (await dueOutgoing(db(), hold, 10)).map(({ kind }) => kind);
    expect(await kinds()).toEqual(['approval']);
    await recordPiece(db(), hold, id, 1, '4711');
    await recordOutcome(db(), hold, id, { error: null });
    expect(await press('7', id, 'reject')).toBe('Rejected.');
    await publish();
    const due = await dueOutgoing(db(), hold, 10);
    expect(due).toMatchObject([{ kind: 'outcome', changes: '4711' }]);
    expect(due[0]?.body).toContain('rejected by');
    expect(await press('7', id)).toBe('It is rejected already.');
  });
});

describe('a hold', () => {
  const state = {
    revision: 1,
    status: 'connected',
    last_error: null,
    last_seen_at: new Date(),
    bot_id: '1',
    bot_name: 'bot',
  } as const;

  it('is one scheduler’s; whoever has lost it stores nothing and deals with nothing', async () => {
    expect((await claim('two')).fence).toBe(-1);
    await inTx((tx) => storeIncoming(tx, hold, [words('7', 'hi')]));
    await inTx((tx) => releaseChannel(tx, hold));
    const second = await claim('two');
    expect(second.fence).toBe(hold.fence + 1);
    expect(await inTx((tx) => storeIncoming(tx, hold, [words('7', 'hi')]))).toBe(false);
    const stored = (await nextIncoming(db(), second))!;
    expect(await inTx((tx) => receive(tx, hold, stored, [], []))).toBeUndefined();
    expect((await renewChannels(db(), [{ ...hold, ...state }], 15)).size).toBe(0);
    expect((await renewChannels(db(), [{ ...second, ...state }], 15)).size).toBe(1);
  });

  it('that was given back is free at once, though its time is rounded up to the next millisecond', async () => {
    for (let tries = 0; tries < 12; tries += 1) {
      const again = await inTx(async (tx) => {
        await releaseChannel(tx, hold);
        return claimChannels(tx, 'two', 15, 5);
      });
      expect(again.map(({ id }) => id)).toEqual([channel_id]);
      hold = { channel_id, held_by: 'two', fence: again[0]!.fence };
    }
  });

  it('ends with the channel switched off, and other tokens ask for another connection', async () => {
    const row = async () => (await findChannel(db(), channel_id))!;
    await inTx(async (tx) => updateChannel(tx, actors.system, await row(), { bot_token: '${secret:U}' }));
    const kept = await renewChannels(db(), [{ ...hold, ...state }], 15);
    expect(kept.get(channel_id)?.revision).toBe(2);
    // The state of the connection with the old tokens does not apply to the new ones.
    expect((await row()).status).toBe('connecting');
    await inTx(async (tx) => updateChannel(tx, actors.system, await row(), { enabled: false }));
    expect((await renewChannels(db(), [{ ...hold, ...state }], 15)).size).toBe(0);
  });

  it('drops what can’t be read, and stores what can’t be stored as it came without holding up the rest', async () => {
    const torn = { source: 'f', name: `${'x'.repeat(254)}\ud83d`, content_type: 'a\0b', size_bytes: 1 };
    const unreadable = [
      words('7', 'a', { message_id: 'x'.repeat(201) }),
      words('7', 'b', { files: [{ ...torn, size_bytes: 1.5 }] }),
      words('7', 'c', { is_private: false, conversation: 'y'.repeat(1_000_000) }),
    ];
    const came = [...unreadable, words('7', 'd', { files: [torn] })];
    expect(await inTx((tx) => storeIncoming(tx, hold, came, 700))).toBe(true);
    const next = await nextIncoming(db(), hold);
    expect(next?.incoming).toMatchObject({
      text: 'd',
      files: [{ name: `${'x'.repeat(254)}\ufffd`, content_type: 'ab' }],
    });
    expect(await db().$count(channel_inbox, eq(channel_inbox.channel_id, channel_id))).toBe(1);
    expect(await findChannel(db(), channel_id)).toMatchObject({ update_offset: 700, refused_groups: [] });
  });

  it('takes no more while five hundred messages wait, so that the vendor keeps them', async () => {
    const many = Array.from({ length: 500 }, () => words('7', 'hi'));
    expect(await inTx((tx) => storeIncoming(tx, hold, many, 600))).toBe(true);
    expect(await inTx((tx) => storeIncoming(tx, hold, [words('7', 'hi')], 601))).toBe(false);
    expect(await db().$count(channel_inbox, eq(channel_inbox.channel_id, channel_id))).toBe(500);
    const row = await findChannel(db(), channel_id);
    expect(row?.update_offset).toBe(600);
  });
});

it('what a reply says is sent to who is paired alone', async () => {
  await createAgent(db(), company);
  const member = await person('member', '7');
  await hear(words('7', '!help'));
  expect(await dueOutgoing(db(), hold, 10)).toMatchObject([{ allowed: true }]);
  await inTx((tx) => deleteMembership(tx, actors.system, company.id, member.user_id));
  expect(await dueOutgoing(db(), hold, 10)).toMatchObject([{ allowed: false }]);
});

it('a reply that was stopped halfway is said before that it was, and replaces what was shown of it', async () => {
  await createAgent(db(), company);
  await person('member', '7');
  await hear(words('7', 'hello'));
  const [chat] = await chatsHere();
  const [question] = await db()
    .update(chat_messages)
    .set({ status: 'stopped' })
    .where(eq(chat_messages.chat_id, chat!.id))
    .returning();
  const { id: _, ...like } = question!;
  const [reply] = await db()
    .insert(chat_messages)
    .values({ ...like, position: 3, role: 'assistant', body_markdown: 'Half' })
    .returning();
  const changes = [question!, reply!].map((row) => ({
    company_id: company.id,
    entity_type: 'chat_message' as const,
    entity_id: row.id,
    event: { type: 'chat_message' as const, data: { ...presentMessage(row), private_to_user_id: null } },
  }));
  await inTx((tx) => recordChanges(tx, actors.system, changes));
  await publish();
  const queued = await db()
    .select()
    .from(channel_outbox)
    .where(eq(channel_outbox.channel_id, channel_id))
    .orderBy(asc(channel_outbox.seq));
  expect(queued).toMatchObject([
    { kind: 'reply', chat_message_id: reply!.id, question_id: question!.id },
    { kind: 'notice', body: 'Stopped.', question_id: null },
  ]);
});
