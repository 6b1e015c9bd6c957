/** How the pool handles runs interrupted by database errors, and results delivered from outside. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelRun,
  claimRun,
  findAgent,
  findRun,
  handOverRun,
  invokeAgent,
  listRunEvents,
  recordAction,
  sweepLostRun,
  takeBackRun,
  triggerIssue,
  updatePermissions,
} from '@acp/core';
import { schema, transaction } from '@acp/db';
import * as kit from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { HeldRun } from '../../apps/scheduler/src/execution/held-run.ts';
import type { BroughtResult } from '../../apps/scheduler/src/execution/remote-result.ts';
import { type PoolStage, startPool } from './pool-stage.ts';

let stage: PoolStage;
let db: PoolStage['db'];
let leases: PoolStage['leases'];
let pool: PoolStage['pool'];

beforeAll(async () => {
  stage = await startPool('execution', { calls: [{ texts: ['Done.'] }] });
  ({ db, leases, pool } = stage);
});
afterAll(async () => stage.stop());
beforeEach(async () => {
  await db.database.db.execute(sql`delete from heartbeat_runs`);
});

const act = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(db.database, work);
const read = async (id: string) => (await findRun(db.database.db, id))!;

async function scene(adapter_type: string) {
  const company = await kit.createCompany(db.database.db);
  const agent = await kit.createAgent(db.database.db, company, { adapter_type });
  const issue = await kit.createIssue(db.database.db, company, { assignee_agent_id: agent.id });
  const human = kit.actors.board(company);
  const { id } = await act(async (tx) => invokeAgent(tx, human, agent));
  return { company, agent, issue, human, id };
}

describe('claims at once', () => {
  it('have a run each, also where several are of one agent, and say so where there are no more', async () => {
    const { company, human, agent, id } = await scene('llm');
    await db.database.db.update(schema.agents).set({ max_concurrent_runs: 2 });
    const second = await kit.createIssue(db.database.db, company, { assignee_agent_id: agent.id });
    const others = [await act(async (tx) => triggerIssue(tx, human, second)), await scene('llm')];
    const answers = await Promise.all([1, 2, 3, 4].map(async () => pool.claimOne()));
    expect(answers.filter(Boolean)).toHaveLength(3);
    for (const of of [{ id }, ...others])
      await kit.waitFor(async () => (await read(of.id)).error_category === 'config');
    await kit.waitFor(() => pool.free() === pool.size);
  });
});

describe('a run in progress', () => {
  it('may do no more than its agent may by now, as soon as a permission is withdrawn', async () => {
    const { agent, human } = await scene('llm');
    const claimed = (await act(async (tx) => claimRun(tx, { claimed_by: 'scheduler', lease_sec: 30 })))!;
    const held = new HeldRun(claimed, 30, performance.now());
    leases.add(held);
    const row = (await findAgent(db.database.db, agent.id))!;
    await act(async (tx) => updatePermissions(tx, human, row, { 'issues.update': false }));
    await kit.waitFor(() => claimed.actor.permissions['issues.update'] === false);
    leases.drop(held);
    expect(claimed.actor.permissions).toEqual({ 'issues.update': false });
  });
});

describe('a run that waits for another one of its agent', () => {
  const waiting = async () => {
    const { company, human, agent, id } = await scene('llm');
    const other = await kit.createIssue(db.database.db, company, { assignee_agent_id: agent.id });
    const next = await act(async (tx) => triggerIssue(tx, human, other));
    await db.database.db.execute(sql`delete from pgboss.job`);
    return { id, next: next.id };
  };
  const jobsOf = async (run_id: string) => kit.queuedJobs(db.database.db, 'execute-run', { run_id });

  it('begins when that one ends, without a job', async () => {
    const { id, next } = await waiting();
    expect(await pool.claimOne()).toBe(true);
    await kit.waitFor(async () => (await read(next)).finished_at !== null);
    expect((await read(id)).finished_at).not.toBeNull();
    expect(await jobsOf(next)).toEqual([]);
  });

  it('has a job where the process stops, which waits for that to be written', async () => {
    const { id, next } = await waiting();
    const leaving = stage.newPool();
    expect(await leaving.claimOne()).toBe(true);
    expect(await leaving.drain(5000)).toBe(true);
    expect(await read(id)).toMatchObject({ error_category: 'config' });
    expect(await read(next)).toMatchObject({ status: 'queued' });
    expect(await jobsOf(next)).toHaveLength(1);
  });
});

describe('a run whose database is away while its files are placed', () => {
  /** Makes the first reads of the agent's files fail with the code; later ones succeed. */
  async function fail(times: number, code: string, work: () => Promise<void>): Promise<void> {
    const { pool: client } = db.database;
    await client.query(`
      create sequence failures;
      create function away(query text) returns boolean language plpgsql as $$ begin
        if query like '%order by "agent_files"."path"%' and nextval('failures') <= ${times} then
          raise exception 'away' using errcode = '${code}';
        end if;
        return true;
      end $$;
      alter table agent_files rename to agent_files_there;
      create view agent_files as select * from agent_files_there where away(current_query())`);
    try {
      await work();
    } finally {
      await client.query(`
        drop view agent_files; alter table agent_files_there rename to agent_files;
        drop function away(text); drop sequence failures`);
    }
  }
  const skill = {
    kind: 'skill',
    path: 'paint',
    size_bytes: 5,
    sha256: 'x',
    storage_key: 'x',
    content: 'Green',
  };
  async function withFile() {
    const set = await scene('cli_a_local');
    const { agent } = set;
    const owner = { company_id: agent.company_id, agent_id: agent.id };
    await db.database.db.insert(schema.agent_files).values({ ...owner, ...skill });
    return set;
  }
  const ended = async (id: string) =>
    kit.waitFor(async () => {
      const run = await read(id);
      return run.finished_at === null ? false : run;
    });

  it('for a moment goes on', async () => {
    const { id } = await withFile();
    await fail(3, '57P01', async () => {
      expect(await pool.claimOne()).toBe(true);
      expect(await ended(id)).toMatchObject({ status: 'succeeded', summary: 'Done.' });
    });
  });

  it('for longer ends as lost, and is tried once more', async () => {
    const { id } = await withFile();
    await fail(10, '55P03', async () => {
      await pool.claimOne();
      expect(await ended(id)).toMatchObject({ status: 'failed', error_category: 'lost' });
      const [again] = await db.database.db
        .select()
        .from(schema.heartbeat_runs)
        .where(eq(schema.heartbeat_runs.retry_of_run_id, id));
      await pool.claimOne();
      expect(await ended(again!.id)).toMatchObject({ status: 'succeeded', summary: 'Done.' });
    });
  });
});

describe('a run that is taken back', () => {
  const brought: BroughtResult = {
    failure: null,
    texts: ['/priority high\n/get-issue\nPainted it.\n/status done'],
    usage: [
      {
        model: 'small',
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 0,
        usage_missing: false,
        cost_usd: 0.5,
      },
    ],
    provider: 'remote',
  };
  const elsewhere = { claimed_by: 'another', lease_sec: 30 };
  async function handedOver() {
    const set = await scene('remote');
    const run = (await act(async (tx) => claimRun(tx, elsewhere)))!;
    await act(async (tx) => handOverRun(tx, run));
    const issue = async () =>
      (await db.database.db.select().from(schema.issues).where(eq(schema.issues.id, set.issue.id)))[0]!;
    return { ...set, readIssue: issue };
  }
  const actionsOf = async (id: string) => {
    const { rows } = await db.database.db.execute(
      sql`select ordinal, verb, ok from run_actions where run_id = ${id} order by ordinal`,
    );
    return rows;
  };

  it('ends with what was brought: verbs for remote results applied, prose posted, cost booked', async () => {
    const { id, issue, readIssue } = await handedOver();
    expect(await pool.takeBack(id, brought)).toBe(true);
    const run = await read(id);
    expect(run).toMatchObject({
      status: 'succeeded',
      summary: '/get-issue\nPainted it.',
      cost_usd: '0.50000000',
    });
    expect(await readIssue()).toMatchObject({
      status: 'done',
      priority: 'high',
      checked_out_by_agent_id: null,
    });
    expect(await actionsOf(id)).toEqual([
      { ordinal: 1, verb: 'priority', ok: true },
      { ordinal: 3, verb: 'status', ok: true },
    ]);
    const comments = eq(schema.comments.issue_id, issue.id);
    expect(await db.database.db.$count(schema.comments, comments)).toBe(1);
    const entries = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id);
    expect(entries.map(({ kind }) => kind)).toEqual(['log', 'action', 'action', 'status']);
    expect(await pool.takeBack(id, brought)).toBe(false);
  });

  it('by a second one after the first has died goes on from the first verb that is not recorded', async () => {
    const { id, readIssue } = await handedOver();
    const first = (await act(async (tx) => takeBackRun(tx, id, elsewhere)))!;
    const verb = { ordinal: 1, verb: 'priority', args: {}, mutating: true, ok: true };
    await recordAction(db.database.db, first.run, verb);
    expect(await pool.takeBack(id, brought)).toBe(false);
    await db.database.db.execute(
      sql`update heartbeat_runs set lease_expires_at = now() - interval '1 second'`,
    );
    await act(async (tx) => sweepLostRun(tx));
    expect(await pool.takeBack(id, brought)).toBe(true);
    expect(await actionsOf(id)).toHaveLength(2);
    // The first verb was applied by the other scheduler: it is not repeated.
    expect(await readIssue()).toMatchObject({ status: 'done', priority: 'medium' });
    expect((await read(id)).status).toBe('succeeded');
  });

  it('and was called off ends cancelled, with its cost and nothing else', async () => {
    const { id, human, readIssue } = await handedOver();
    await act(async (tx) => cancelRun(tx, human, { id }));
    await pool.takeBack(id, brought);
    expect(await read(id)).toMatchObject({ status: 'cancelled', cost_usd: '0.50000000' });
    expect(await readIssue()).toMatchObject({ status: 'todo', priority: 'medium' });
    expect(await actionsOf(id)).toEqual([]);
  });

  it('with a failure ends as failed for that reason', async () => {
    const { id } = await handedOver();
    const failure = { category: 'transient', message: 'the worker has no disk left' };
    await pool.takeBack(id, { ...brought, texts: [], usage: [], failure });
    expect(await read(id)).toMatchObject({
      status: 'failed',
      error: failure.message,
      error_category: 'transient',
    });
  });
});
