import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, databaseNow, transaction } from '@acp/db';
import {
  type TestDatabase,
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  pendingWakeups,
  queuedJobs,
} from '@acp/testkit';
import { openQueue, type Queue } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { putSetting } from '../settings/index.ts';
import {
  bindWakeups,
  deleteWakeupsBefore,
  requestWakeups,
  startDueHeartbeats,
  sweepWakeups,
} from './index.ts';

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

// A separate database: timers and sweeps apply to the whole instance.
let clone: TestDatabase;
let database: Database;
let queue: Queue;
beforeAll(async () => {
  clone = await cloneDatabase('wakeup_timers');
  database = clone.database;
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

const beat = async (limit = 100) => transaction(database, async (tx) => startDueHeartbeats(tx, limit));
const sweep = async (limit?: number, waited_sec?: number) =>
  transaction(database, async (tx) => sweepWakeups(tx, limit, waited_sec));
const beats = { heartbeat_enabled: true, heartbeat_interval_sec: 60 };
const jobsOf = async (agent_id: string) => queuedJobs(database.db, 'dispatch-agent', { agent_id });

describe('startDueHeartbeats', () => {
  it('wakes the agents that are due, in batches, and no agent twice', async () => {
    const company = await createCompany(database.db);
    const due = await Promise.all(
      [30, 20, 10].map(async (late) =>
        createAgent(database.db, company, { ...beats, next_heartbeat_at: ago(late) }),
      ),
    );
    const later = await createAgent(database.db, company, { ...beats, next_heartbeat_at: ago(-30) });
    expect(await beat(2)).toBe(2);
    expect(await pendingWakeups(database.db, due[2]!.id)).toEqual([]);
    expect([await beat(2), await beat(2)]).toEqual([1, 0]);
    for (const { id } of due) {
      expect(await pendingWakeups(database.db, id)).toMatchObject([{ reason: 'schedule', issue_id: null }]);
      expect(await jobsOf(id)).toHaveLength(1);
    }
    expect(await pendingWakeups(database.db, later.id)).toEqual([]);
  });

  it('costs one statement when nobody is due', async () => {
    await transaction(database, async (tx) => {
      await databaseNow(tx);
      const before = database.statements();
      await startDueHeartbeats(tx, 100);
      expect(database.statements() - before).toBe(1);
    });
  });
});

const age = async (seconds: number) =>
  database.db.execute(
    sql`update wakeup_requests set created_at = now() - make_interval(secs => ${seconds}) where status = 'pending'`,
  );

async function wake(agent: { id: string; company_id: string }, issue_id: string | null): Promise<string> {
  const request = { company_id: agent.company_id, agent_id: agent.id, issue_id, reason: 'manual' } as const;
  const rows = await transaction(database, async (tx) => requestWakeups(tx, actors.system, [request]));
  return rows[0]!.id;
}

const run = async (agent: { id: string; company_id: string }, issue_id: string | null) =>
  database.db
    .execute(sql`insert into heartbeat_runs (company_id, agent_id, issue_id, status, wake_reason, adapter_type)
    values (${agent.company_id}, ${agent.id}, ${issue_id}::uuid, 'running', 'manual', 'llm')`);

describe('sweepWakeups', () => {
  beforeEach(async () => {
    await database.db.execute(sql`delete from wakeup_requests`);
  });

  it('dispatches again who has waited for more than a minute, once however much waits', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company);
    await wake(agent, null);
    await wake(agent, issue.id);
    await age(30);
    expect(await sweep()).toBe(0);
    expect(await sweep(500, 0)).toBe(1);
    await age(90);
    const before = (await jobsOf(agent.id)).length;
    expect(await sweep()).toBe(1);
    expect(await jobsOf(agent.id)).toHaveLength(before + 1);
  });

  it('passes over those whom nothing but a human or the end of a run can help', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const paused = await createAgent(database.db, company, { status: 'paused' });
    const busy = await createAgent(database.db, company);
    const bound = await createAgent(database.db, company);
    const held = await createIssue(database.db, company);
    await run(busy, null);
    await run(agent, held.id);
    await wake(paused, null);
    await wake(busy, null);
    await bindWakeups(database.db, [{ wakeup_id: await wake(bound, null), run_id: busy.id }]);
    await wake(await createAgent(database.db, company), held.id);
    await age(90);
    expect(await sweep()).toBe(0);
  });

  it('rests while all runs are paused', async () => {
    const agent = await createAgent(database.db, await createCompany(database.db));
    await wake(agent, null);
    await age(90);
    await putSetting(database.db, 'runs_paused', true);
    expect(await sweep()).toBe(0);
    await putSetting(database.db, 'runs_paused', false);
    expect(await sweep()).toBe(1);
  });
});

describe('deleteWakeupsBefore', () => {
  it('forgets what was consumed or called off long ago, some at a time, and nothing that waits', async () => {
    const agents = await Promise.all(
      [1, 2].map(async () => createAgent(database.db, await createCompany(database.db))),
    );
    for (const { id, company_id } of agents)
      await database.pool.query(
        `insert into wakeup_requests (company_id, agent_id, reason, status, created_at)
          select $1, $2, 'manual', status, now() - age * interval '1 day'
          from (values ('consumed', 91), ('cancelled', 92), ('consumed', 89), ('pending', 95)) w(status, age)`,
        [company_id, id],
      );
    expect(await deleteWakeupsBefore(database.db, 90, 3)).toBe(3);
    expect(await deleteWakeupsBefore(database.db, 90, 3)).toBe(1);
    const { rows } = await database.pool.query(
      'select status from wakeup_requests where agent_id = any ($1) order by 1',
      [agents.map(({ id }) => id)],
    );
    expect(rows.map(({ status }: { status: string }) => status)).toEqual([
      'consumed',
      'consumed',
      'pending',
      'pending',
    ]);
  });
});
