import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, databaseNow, schema, transaction } from '@acp/db';
import { createAgent, createCompany, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  type AgentBefore,
  agentBefore,
  agentStartedChange,
  markAgentsRunning,
  findAgent,
  noteRunEnded,
  noteRunRefused,
  runtimeState,
} from './index.ts';

const { heartbeat_runs } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp(status = 'idle') {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company, { status });
  const begin = async () => {
    const [run] = await database.db
      .insert(heartbeat_runs)
      .values({
        company_id: company.id,
        agent_id: agent.id,
        status: 'running',
        wake_reason: 'manual',
        adapter_type: 'llm',
      })
      .returning();
    const { rows } = await database.db.execute<{ agent: Record<string, unknown>; before: AgentBefore }>(sql`
      with started as (
        select r.id, r.agent_id, ${agentBefore} as before from heartbeat_runs r join agents a on a.id = r.agent_id where r.id = ${run!.id}
      ), ${markAgentsRunning('started')}
      select to_jsonb(begun_agent) as agent, before from started left join begun_agent on true`);
    const [{ agent: begun, before }] = rows as [(typeof rows)[0]];
    return { id: run!.id, before, changes: begun === null ? [] : [agentStartedChange(begun)] };
  };
  const end = async (run_id: string, error: string | null = null) =>
    transaction(database, async (tx) => {
      const { changes } = await noteRunEnded(tx, agent.id, { run_id, ok: error === null, error });
      const ended = { status: error === null ? 'succeeded' : 'failed' };
      await tx.update(heartbeat_runs).set(ended).where(eq(heartbeat_runs.id, run_id));
      return changes;
    });
  const statusNow = async () => (await findAgent(database.db, agent.id))!.status;
  const state = async () => runtimeState(database.db, agent);
  return { agent, begin, end, statusNow, state };
}

describe('an agent and its runs', () => {
  it('is running from a run’s start to its end, each told by one event', async () => {
    const { agent, begin, end, statusNow, state } = await setUp('active');
    const { id, changes } = await begin();
    expect(changes).toMatchObject([
      { entity_id: agent.id, event: { type: 'agent_updated', data: { status: 'running' } } },
    ]);
    expect(await state()).toMatchObject({ current_run_id: id, last_heartbeat_at: expect.any(Date) });
    expect(await end(id)).toMatchObject([{ event: { data: { status: 'idle' } } }]);
    expect(await statusNow()).toBe('idle');
    expect(await state()).toMatchObject({ current_run_id: null, last_error: null });
  });

  it('keeps the error of a failed run until one succeeds', async () => {
    const { begin, end, statusNow, state } = await setUp();
    await end((await begin()).id, 'quota');
    expect([await statusNow(), (await state()).last_error]).toEqual(['error', 'quota']);
    await end((await begin()).id);
    expect([await statusNow(), (await state()).last_error]).toEqual(['idle', null]);
  });

  it('stays running while another of its runs does', async () => {
    const { begin, end, statusNow, state } = await setUp();
    const [first, second] = [await begin(), await begin()];
    expect(second.changes).toEqual([]);
    expect(await end(second.id)).toEqual([]);
    expect([await statusNow(), (await state()).current_run_id]).toEqual(['running', first.id]);
    await end(first.id);
    expect(await statusNow()).toBe('idle');
  });

  it('is not left running when its last two runs end at once', async () => {
    for (let i = 0; i < 5; i += 1) {
      const { begin, end, statusNow, state } = await setUp();
      const runs = [await begin(), await begin()];
      await Promise.all(runs.map(async ({ id }) => end(id)));
      expect([await statusNow(), (await state()).current_run_id]).toEqual(['idle', null]);
    }
  });

  it.each(['paused', 'terminated', 'pending_approval'])('stays %s, whatever its runs do', async (status) => {
    const { begin, end, statusNow } = await setUp(status);
    const { id, changes } = await begin();
    expect(changes).toEqual([]);
    expect(await end(id)).toEqual([]);
    expect(await statusNow()).toBe(status);
  });

  it.each(['idle', 'error', 'running', 'paused'])(
    '%s before a run that its kind refuses, is so afterwards',
    async (status) => {
      const { agent, begin, statusNow, state } = await setUp(status);
      const earlier = await state();
      const { before } = await begin();
      await transaction(database, async (tx) => noteRunRefused(tx, agent.id, before));
      expect(await statusNow()).toBe(status);
      expect(await state()).toEqual({ ...earlier, updated_at: expect.anything() });
    },
  );

  it('costs two statements at a run’s end', async () => {
    const { agent, begin } = await setUp();
    const { id } = await begin();
    await transaction(database, async (tx) => {
      await databaseNow(tx);
      const before = database.statements();
      await noteRunEnded(tx, agent.id, { run_id: id, ok: true });
      expect(database.statements() - before).toBe(2);
    });
  });
});
