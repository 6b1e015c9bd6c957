import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { sha256Hex } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { mintBoardUserKey } from '../companies/index.ts';
import {
  createAgent,
  createAgentKey,
  deleteAgentKey,
  findAgentKey,
  listAgentKeys,
  markKeysUsed,
  resolveBearer,
  revokeAgentKeys,
  warnOfExpiringKeys,
} from './index.ts';

const { agent_api_keys, board_user_keys, heartbeat_runs } = schema;
const { actors } = kit;

let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

async function setUp() {
  const company = await kit.createCompany(database.db);
  const agent = await kit.createAgent(database.db, company);
  const mint = async (actor: Actor, agent_id = agent.id) =>
    transaction(database, async (tx) => createAgentKey(tx, actor, company.id, { agent_id, label: 'ci' }));
  return { company, agent, board: await kit.createIntegration(database.db, company), mint };
}

describe('agent keys', () => {
  it('are shown once and stored as a hash; the list shows metadata only', async () => {
    const { agent, board, mint } = await setUp();
    const key = await mint(board);
    expect(key.raw_key).toMatch(/^sk_[0-9a-f]{64}$/);
    expect(key.key_prefix).toBe(key.raw_key.slice(0, 8));
    const { raw_key, ...metadata } = key;
    expect((await listAgentKeys(database.db, agent, {})).items).toEqual([metadata]);
    const [stored] = await database.db.select().from(agent_api_keys).where(eq(agent_api_keys.id, key.id));
    expect(stored!.key_hash).toBe(sha256Hex(raw_key));
    expect(JSON.stringify(stored)).not.toContain(raw_key);
  });

  it('are minted for agents of the company only, and for none that is terminated', async () => {
    const { company, board, mint } = await setUp();
    const stranger = await kit.createAgent(database.db, await kit.createCompany(database.db));
    await expect(mint(board, stranger.id)).rejects.toMatchObject({ kind: 'not_found' });
    const ended = await kit.createAgent(database.db, company, { status: 'terminated' });
    await expect(mint(board, ended.id)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('are not minted by an agent for one that may do more than itself', async () => {
    const { company, agent, mint } = await setUp();
    const limited = await kit.createAgent(database.db, company, { permissions: { 'issues.create': false } });
    await expect(mint(actors.agent(limited), agent.id)).rejects.toMatchObject({ kind: 'forbidden' });
    await expect(mint(actors.agent(limited), limited.id)).resolves.toMatchObject({ agent_id: limited.id });
    await expect(mint(actors.agent(agent), limited.id)).resolves.toMatchObject({ agent_id: limited.id });
  });

  it('open nothing once they are deleted, and are then found no more', async () => {
    const { board, mint } = await setUp();
    const { id, raw_key } = await mint(board);
    const row = (await findAgentKey(database.db, id))!;
    const remove = async () => transaction(database, async (tx) => deleteAgentKey(tx, board, row));
    await remove();
    expect(await resolveBearer(database.db, sha256Hex(raw_key))).toBeUndefined();
    expect(await findAgentKey(database.db, id)).toBeUndefined();
    await expect(remove()).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('end all at once with their company', async () => {
    const { company, agent, board, mint } = await setUp();
    await mint(board);
    await mint(board);
    await transaction(database, async (tx) => revokeAgentKeys(tx, { company_id: company.id }));
    expect((await listAgentKeys(database.db, agent, {})).items).toEqual([]);
  });
});

describe('resolveBearer', () => {
  it('knows agent keys and board-user keys by one statement, and no other', async () => {
    const { company, agent, board, mint } = await setUp();
    const { id, raw_key } = await mint(board);
    const integration = await transaction(database, async (tx) =>
      mintBoardUserKey(tx, actors.system, company.id, { role: 'viewer', label: 'CI' }),
    );
    const before = database.statements();
    expect(await resolveBearer(database.db, sha256Hex(raw_key))).toEqual({
      kind: 'agent',
      agent_id: agent.id,
      company_id: company.id,
      name: agent.name,
      key_id: id,
      permissions: {},
      run_id: null,
      depth: 0,
    });
    expect(database.statements() - before).toBe(1);
    expect(await resolveBearer(database.db, sha256Hex(integration.raw_key))).toEqual({
      kind: 'board_user',
      key_id: integration.id,
      company_id: company.id,
      role: 'viewer',
      name: 'CI',
    });
    expect(await resolveBearer(database.db, sha256Hex('sk_nobody'))).toBeUndefined();
  });

  it('refuses keys of trashed and terminated agents and of trashed companies', async () => {
    const { company } = await setUp();
    const trashed = await kit.createCompany(database.db, { deleted_at: new Date() });
    const refused = [
      await kit.createAgent(database.db, company, { deleted_at: new Date() }),
      await kit.createAgent(database.db, company, { status: 'terminated' }),
      await kit.createAgent(database.db, trashed),
    ];
    for (const agent of refused) {
      const { key_hash } = await kit.createKeyOf(database.db, agent);
      expect(await resolveBearer(database.db, key_hash)).toBeUndefined();
    }
    const integration = await transaction(database, async (tx) =>
      mintBoardUserKey(tx, actors.system, trashed.id, { role: 'admin' }),
    );
    expect(await resolveBearer(database.db, sha256Hex(integration.raw_key))).toBeUndefined();
  });

  it('takes a run’s key while the run is running, at the depth of the run, and lists it nowhere', async () => {
    const { company, agent } = await setUp();
    const [run] = await database.db
      .insert(heartbeat_runs)
      .values({
        company_id: company.id,
        agent_id: agent.id,
        status: 'running',
        wake_reason: 'manual',
        adapter_type: 'llm',
        depth: 4,
      })
      .returning();
    const { id, key_hash } = await kit.createKeyOf(database.db, agent, { run_id: run!.id });
    expect(await resolveBearer(database.db, key_hash)).toMatchObject({ run_id: run!.id, depth: 4 });
    expect((await listAgentKeys(database.db, agent, {})).items).toEqual([]);
    expect(await findAgentKey(database.db, id)).toBeUndefined();
    await database.db
      .update(heartbeat_runs)
      .set({ status: 'succeeded' })
      .where(eq(heartbeat_runs.id, run!.id));
    expect(await resolveBearer(database.db, key_hash)).toBeUndefined();
  });
});

describe('the end of a key', () => {
  const inTx = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
  const opens = async (raw_key: string) =>
    (await resolveBearer(database.db, sha256Hex(raw_key))) !== undefined;

  it('comes after its days: keys of both kinds open nothing from then on', async () => {
    const { company, agent, board } = await setUp();
    const ofAgent = await inTx((tx) =>
      createAgentKey(tx, board, company.id, { agent_id: agent.id, expires_in_days: 2 }),
    );
    const ofBoard = await inTx((tx) =>
      mintBoardUserKey(tx, board, company.id, { role: 'viewer', expires_in_days: 2 }),
    );
    for (const { raw_key, expires_at } of [ofAgent, ofBoard]) {
      expect(Math.round((new Date(expires_at!).getTime() - Date.now()) / 86_400_000)).toBe(2);
      expect(await opens(raw_key)).toBe(true);
    }
    for (const table of [agent_api_keys, board_user_keys])
      await database.db
        .update(table)
        .set({ expires_at: inDays(-1) })
        .where(eq(table.company_id, company.id));
    for (const { raw_key } of [ofAgent, ofBoard]) expect(await opens(raw_key)).toBe(false);
  });

  it('is no later than that of the key it was made with, a hire’s first key included', async () => {
    const { company, agent, board } = await setUp();
    const { id } = await kit.createKeyOf(database.db, agent, { expires_at: inDays(1) });
    const actor = { ...actors.agent(agent), key_id: id };
    const own = await inTx((tx) =>
      createAgentKey(tx, actor, company.id, { agent_id: agent.id, expires_in_days: 90 }),
    );
    const hired = await inTx((tx) =>
      createAgent(tx, actor, company.id, { name: 'Hired' }, { first_key: true }),
    );
    if (!('api_key' in hired)) throw new Error('a hire by an agent has a first key');
    const [first] = await database.db
      .select()
      .from(agent_api_keys)
      .where(eq(agent_api_keys.agent_id, hired.agent.id));
    const minted = await inTx((tx) => mintBoardUserKey(tx, board, company.id, { role: 'admin' }));
    expect(minted.expires_at).toBeNull();
    for (const at of [own.expires_at, first!.expires_at])
      expect(new Date(at!).getTime()).toBeLessThanOrEqual(inDays(1).getTime());
  });

  it('is announced once, a week ahead, to the security log and the company’s admins; not of what is in the trash', async () => {
    const { company, agent, board } = await setUp();
    const trashed = await kit.createCompany(database.db, { deleted_at: new Date() });
    const gone = await kit.createAgent(database.db, trashed);
    const near = await kit.createKeyOf(database.db, agent, { label: 'near', expires_at: inDays(6) });
    await kit.createKeyOf(database.db, agent, { label: 'far', expires_at: inDays(8) });
    await kit.createKeyOf(database.db, agent, { label: 'lasting' });
    await kit.createKeyOf(database.db, gone, { label: 'gone', expires_at: inDays(6) });
    const minted = await inTx((tx) =>
      mintBoardUserKey(tx, board, company.id, {
        role: 'viewer',
        label: 'CI',
        expires_in_days: 3,
      }),
    );
    for (let more = true; more;) more = await inTx(warnOfExpiringKeys);
    await inTx(warnOfExpiringKeys);
    const { rows } = await database.pool.query(
      `select kind, key_id, subject from security_events where company_id in ($1, $2) order by subject`,
      [company.id, trashed.id],
    );
    expect(rows).toEqual([
      { kind: 'key.expiring', key_id: minted.id, subject: 'CI' },
      { kind: 'key.expiring', key_id: near.id, subject: 'near' },
    ]);
    const told = await database.pool.query(
      `select data from outbox where type = 'notification' and company_id = $1
       union all select data from events where type = 'notification' and company_id = $1`,
      [company.id],
    );
    expect(told.rows).toHaveLength(2);
  });
});

describe('markKeysUsed', () => {
  it('takes the keys of both kinds in one order, whatever plan two processes have for it', async () => {
    const { company, mint, board } = await setUp();
    const keys = [await mint(board), await mint(board)].map(({ id }) => id).toSorted();
    const mintForBoard = async () =>
      transaction(database, async (tx) => mintBoardUserKey(tx, board, company.id, { role: 'member' }));
    const ofBoard = [await mintForBoard(), await mintForBoard()].map(({ id }) => id).toSorted();
    for (const [table, [first, second]] of [
      ['agent_api_keys', keys],
      ['board_user_keys', ofBoard],
    ] as const) {
      // Behind the other in the table, before it in the index: as when an update has moved it to another page.
      const moved = second!.replace(/^.{8}/, '00000000');
      await database.pool.query(`update ${table} set id = $2 where id = $1`, [second, moved]);
      const ids = [first!, moved];
      const mark = async (plan: string) =>
        transaction(database, async (tx) => {
          for (const off of ['enable_bitmapscan', plan]) await tx.execute(sql.raw(`set local ${off} = off`));
          await markKeysUsed(tx, ids);
        });
      const marked = await transaction(database, async (tx) => {
        await tx.execute(sql.raw(`select from ${table} where id in ('${ids.join(`','`)}') for update`));
        const both = Promise.allSettled([mark('enable_indexscan'), mark('enable_seqscan')]);
        await kit.waitFor(async () => (await kit.waitingForLocks(database)) === 2);
        return { both };
      });
      expect((await marked.both).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    }
  });

  it('notes the use of keys of both kinds together', async () => {
    const { company, board, mint } = await setUp();
    const { id } = await mint(board);
    const integration = await transaction(database, async (tx) =>
      mintBoardUserKey(tx, actors.system, company.id, { role: 'viewer' }),
    );
    await markKeysUsed(database.db, [id, integration.id]);
    const [key] = await database.db.select().from(agent_api_keys).where(eq(agent_api_keys.id, id));
    const [other] = await database.db
      .select()
      .from(board_user_keys)
      .where(eq(board_user_keys.id, integration.id));
    expect(key!.last_used_at).toBeInstanceOf(Date);
    expect(other!.last_used_at).toBeInstanceOf(Date);
  });
});
