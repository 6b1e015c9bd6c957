import { beforeAll, describe, expect, it } from '@jest/globals';
import type { UserActor } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createMembership,
  createSession,
  createUser,
  meetAt,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { deleteMembership } from '../companies/index.ts';
import { removeMember } from '../credentials/index.ts';
import { pairIdentity, revokePairings } from '../identity/index.ts';
import { lockHeld } from './holder.ts';
import { codeHash } from './people.ts';
import {
  setMyNotifications,
  createChannel,
  deleteChannel,
  findChannel,
  listChannelPeople,
  createPairingCode,
  myChannels,
  setChannelKnowledge,
  testChannel,
  unpair,
  updateChannel,
} from './index.ts';

const { channel_outbox, channel_pairing_codes, sessions, users } = schema;

let database: Database;
beforeAll(async () => {
  database = (await cloneDatabase('channels_core')).database;
});
const db = () => database.db;
const inTx = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);

async function member(company_id: string): Promise<UserActor> {
  const user = await createUser(db());
  await createMembership(db(), { id: company_id }, user);
  const session = await createSession(db(), user);
  return { ...actors.user(user, { [company_id]: 'member' }), session_id: session.id };
}

const telegram = { name: 'telegram', kind: 'telegram', bot_token: '${secret:BOT_TOKEN}' } as const;

async function scene() {
  const company = await createCompany(db());
  const { id } = await inTx((tx) => createChannel(tx, actors.system, company.id, telegram));
  const person = await member(company.id);
  const pair = async (who = person, external_id = '77') =>
    inTx((tx) =>
      pairIdentity(tx, {
        channel_id: id,
        company_id: company.id,
        channel: 'telegram',
        user_id: who.user_id,
        external_id,
        external_name: 'Ada',
      }),
    );
  const row = async () => (await findChannel(db(), id))!;
  const people = async () => (await listChannelPeople(db(), { id }, {})).items.map(({ user_id }) => user_id);
  return { company, id, person, pair, row, people };
}

type Scene = Awaited<ReturnType<typeof scene>>;

describe('a channel', () => {
  it('needs the tokens of its kind, a free name and an agent of the company', async () => {
    const { company } = await scene();
    const foreign = await createAgent(db(), await createCompany(db()));
    const make = async (input: object) =>
      inTx((tx) => createChannel(tx, actors.system, company.id, { ...telegram, name: 'other', ...input }));
    await expect(make({ name: 'telegram' })).rejects.toThrow('name is already in use');
    await expect(make({ app_token: '${secret:A}' })).rejects.toThrow('Telegram has none');
    await expect(make({ kind: 'slack' })).rejects.toThrow('socket mode needs one');
    await expect(make({ default_agent_id: foreign.id })).rejects.toThrow('unknown agent');
    await expect(make({})).resolves.toMatchObject({ status: 'connecting', knowledge: [], groups: [] });
  });

  it('is connected anew with other tokens, and not for another name', async () => {
    const { row } = await scene();
    const { revision } = await row();
    await inTx(async (tx) => updateChannel(tx, actors.system, await row(), { name: 'bot', groups: ['-1'] }));
    expect((await row()).revision).toBe(revision);
    await inTx(async (tx) => updateChannel(tx, actors.system, await row(), { bot_token: '${secret:B}' }));
    expect(await row()).toMatchObject({ revision: revision + 1, status: 'connecting' });
    await inTx(async (tx) => setChannelKnowledge(tx, actors.system, await row(), ['note']));
    expect(await row()).toMatchObject({ revision: revision + 1, knowledge: ['note'] });
  });

  it('is deleted with its pairings: the users’ records name no identity any more', async () => {
    const { row, pair, person } = await scene();
    await pair();
    const [before] = await db().select().from(users).where(eq(users.id, person.user_id));
    expect(before?.telegram_user_id).toBe('77');
    await inTx(async (tx) => deleteChannel(tx, actors.system, await row()));
    const [after] = await db().select().from(users).where(eq(users.id, person.user_id));
    expect(after?.telegram_user_id).toBeNull();
  });

  it('sends a test message to who asks for it, if paired', async () => {
    const { row, pair, person, id } = await scene();
    const test = async () => inTx(async (tx) => testChannel(tx, person, await row()));
    await expect(test()).rejects.toThrow('not paired');
    await pair();
    await test();
    const sent = await db().select().from(channel_outbox).where(eq(channel_outbox.channel_id, id));
    expect(sent).toMatchObject([{ conversation: '77', user_id: person.user_id, status: 'pending' }]);
  });
});

describe('a person', () => {
  it('gets a code shortly after a sign-in alone; a new one replaces the one before', async () => {
    const { id, person } = await scene();
    const first = await inTx((tx) => createPairingCode(tx, person, id));
    const second = await inTx((tx) => createPairingCode(tx, person, id));
    const stored = await db()
      .select()
      .from(channel_pairing_codes)
      .where(eq(channel_pairing_codes.channel_id, id));
    expect(stored.map(({ code_hash }) => code_hash)).toEqual([codeHash(second.code)]);
    expect(first.code).not.toBe(second.code);
    await db()
      .update(sessions)
      .set({ created_at: new Date(Date.now() - 3_600_000) })
      .where(eq(sessions.id, person.session_id!));
    await expect(inTx((tx) => createPairingCode(tx, person, id))).rejects.toThrow('sign in again');
  });

  it('of another company finds no channel', async () => {
    const { id } = await scene();
    const stranger = await member((await createCompany(db())).id);
    expect(await myChannels(db(), stranger)).toEqual([]);
    await expect(inTx((tx) => createPairingCode(tx, stranger, id))).rejects.toMatchObject({
      kind: 'not_found',
    });
    await expect(inTx((tx) => unpair(tx, stranger, id))).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('chooses what to be told of, once paired, and ends the pairing', async () => {
    const { id, person, pair, people } = await scene();
    const choose = async () => inTx((tx) => setMyNotifications(tx, person, id, ['approvals']));
    await expect(choose()).rejects.toMatchObject({ kind: 'not_found' });
    await pair();
    expect(await choose()).toMatchObject({ pairing: { notify: ['approvals'], external_id: '77' } });
    expect(await people()).toEqual([person.user_id]);
    await inTx((tx) => unpair(tx, person, id));
    expect(await people()).toEqual([]);
  });

  it('whose identity another person pairs has it no more', async () => {
    const { company, person, pair, people } = await scene();
    await pair();
    const other = await member(company.id);
    await pair(other);
    expect(await people()).toEqual([other.user_id]);
    const [row] = await db().select().from(users).where(eq(users.id, person.user_id));
    expect(row?.telegram_user_id).toBeNull();
  });

  it('who leaves the company is not paired with its channels any more', async () => {
    const { company, person, pair, people } = await scene();
    await pair();
    await inTx((tx) => deleteMembership(tx, actors.system, company.id, person.user_id));
    expect(await people()).toEqual([]);
  });
});

it('a channel is deleted while somebody pairs with it', async () => {
  const { id, row, pair, person } = await scene();
  await pair();
  const hold = { channel_id: id, held_by: 'scheduler', fence: 1 };
  await db().execute(sql`update channels set held_by = 'scheduler', fence = 1 where id = ${id}`);
  const channel = await row();
  const held = sql`select from chat_pairings where channel_id = ${id} for update`;
  const outcomes = await meetAt(database, held, [
    async (tx) => deleteChannel(tx, actors.system, channel),
    async (tx) => {
      if ((await lockHeld(tx, hold)) !== undefined)
        await revokePairings(tx, { channel_id: id, user_id: person.user_id });
    },
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await findChannel(db(), id)).toBeUndefined();
});

it.each<[string, (tx: Tx, of: Scene) => Promise<unknown>]>([
  ['is deleted', async (tx, { row }) => deleteChannel(tx, actors.system, await row())],
  ['is left by that member', async (tx, { id, person }) => unpair(tx, person, id)],
  [
    'is paired with that member anew',
    async (tx, { id, company: { id: company_id }, person: { user_id } }) => {
      const identity = { channel: 'telegram', external_id: '78', external_name: 'Ada' } as const;
      return pairIdentity(tx, { channel_id: id, company_id, user_id, ...identity });
    },
  ],
])('a member is removed while the channel %s', async (_what, act) => {
  const set = await scene();
  await set.pair();
  const held = sql`select from chat_pairings where channel_id = ${set.id} for update`;
  const outcomes = await meetAt(database, held, [
    async (tx) => act(tx, set),
    async (tx) => removeMember(tx, actors.system, set.company.id, set.person.user_id),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
});
