import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  queuedJobs,
  nextInstant,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  appendRunEvents,
  cancelRun,
  claimRun,
  finishRun,
  invokeAgent,
  listRunEvents,
  recordAction,
  renewLeases,
  requestWakeups,
  settleAgent,
  settleCompany,
  storeRunEvents,
  sweepLostRun,
  sweepQueuedRuns,
} from '../index.ts';

const { agents, cost_events, heartbeat_runs, issues, run_actions, wakeup_requests } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('sweep'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const claim = async () =>
  transaction(database, async (tx) => claimRun(tx, { claimed_by: 'scheduler', lease_sec: 30 }));
const sweep = async (except: string[] = []) => transaction(database, async (tx) => sweepLostRun(tx, except));
const lapse = async () =>
  database.db.execute(
    sql`update heartbeat_runs set lease_expires_at = now() - interval '1 second' where status = 'running'`,
  );
const runsOf = async (agent_id: string) =>
  database.db
    .select()
    .from(heartbeat_runs)
    .where(eq(heartbeat_runs.agent_id, agent_id))
    .orderBy(heartbeat_runs.created_at);
const verb = (ordinal: number, changes = {}) => ({
  ordinal,
  verb: 'status',
  args: { status: 'done' },
  mutating: true,
  ok: true,
  ...changes,
});

async function running(of: { held?: boolean } = {}) {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company, {
    assignee_agent_id: agent.id,
    checked_out_by_agent_id: of.held ? agent.id : null,
  });
  const [wakeup] = await transaction(database, async (tx) => {
    const request = {
      company_id: company.id,
      agent_id: agent.id,
      issue_id: issue.id,
      reason: 'comment',
    } as const;
    return requestWakeups(tx, human, [request]);
  });
  await transaction(database, async (tx) => invokeAgent(tx, human, agent));
  const run = (await claim())!;
  const wakeups = async () =>
    database.db
      .select()
      .from(wakeup_requests)
      .where(eq(wakeup_requests.agent_id, agent.id))
      .orderBy(wakeup_requests.created_at);
  const read = async () => ({
    issue: (await database.db.select().from(issues).where(eq(issues.id, issue.id)))[0]!,
    agent: (await database.db.select().from(agents).where(eq(agents.id, agent.id)))[0]!,
  });
  return { company, agent, issue, run, wakeup: wakeup!, wakeups, read };
}

describe('a lost run', () => {
  it('of which nothing was applied fails, gives all back, and is tried once more with its wakeups', async () => {
    const { run, agent, issue, wakeups, read } = await running();
    await lapse();
    await nextInstant();
    expect(await sweep()).toMatchObject({ id: run.run_id, status: 'failed' });
    const [lost, retry] = await runsOf(agent.id);
    expect(lost).toMatchObject({
      status: 'failed',
      error: 'run lost: scheduler stopped',
      error_category: 'lost',
      fence: 2,
    });
    expect(retry).toMatchObject({ status: 'queued', retry_of_run_id: run.run_id, issue_id: issue.id });
    expect(await wakeups()).toMatchObject([
      { status: 'consumed', run_id: run.run_id },
      { status: 'pending', run_id: retry!.id },
    ]);
    const after = await read();
    expect(after.issue).toMatchObject({ checked_out_by_agent_id: null, stalled_runs: 0 });
    expect(after.agent.status).toBe('error');
    expect(await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.run_id)).toMatchObject([
      { seq: 1, kind: 'error', payload: { message: 'run lost: scheduler stopped', category: 'lost' } },
      { seq: 2, kind: 'status', payload: { status: 'failed' } },
    ]);
    expect(await queuedJobs(database.db, 'execute-run', { run_id: retry!.id })).toHaveLength(1);
    expect(await sweep()).toBeUndefined();
  });

  it('costs what its transcript says that its turns did', async () => {
    const { run, agent, company } = await running();
    const used = {
      provider: 'OpenAI',
      model: 'm',
      output_tokens: 10,
      cached_tokens: 1,
      price_estimated: true,
    };
    const entries: unknown[] = [
      { message: 'turn 1', usage: { ...used, input_tokens: 100, cost_usd: 0.01 } },
      { message: 'of a worker', usage: { input_tokens: 'many' } },
      { message: 'turn 2', usage: { ...used, input_tokens: 200, cost_usd: 0.02 } },
    ];
    await database.db.execute(sql`
      insert into run_events (run_id, seq, kind, payload, part)
      select r.id, n, 'log', entry, r.transcript_part from heartbeat_runs r,
        jsonb_array_elements(${JSON.stringify(entries)}::jsonb) with ordinality as e (entry, n) where r.id = ${run.run_id}`);
    await lapse();
    await sweep();
    const figures = {
      model: 'm',
      input_tokens: 300,
      output_tokens: 20,
      cached_tokens: 2,
      cost_usd: '0.03000000',
    };
    expect((await runsOf(agent.id))[0]).toMatchObject({ status: 'failed', usage_missing: true, ...figures });
    const costs = await database.db.select().from(cost_events).where(eq(cost_events.company_id, company.id));
    expect(costs).toMatchObject([
      { run_id: run.run_id, provider: 'OpenAI', price_estimated: true, ...figures },
    ]);
  });

  it('of which a verb was applied is not tried again, and its wakeups stay consumed', async () => {
    const { run, agent, wakeups } = await running();
    expect(await recordAction(database.db, run, verb(1))).toBe(true);
    await lapse();
    await sweep();
    expect(await runsOf(agent.id)).toHaveLength(1);
    expect(await wakeups()).toMatchObject([{ status: 'consumed' }]);
  });

  it('of which only read verbs and refused ones are recorded is tried again', async () => {
    const { run, agent } = await running();
    await recordAction(database.db, run, verb(1, { mutating: false }));
    await recordAction(database.db, run, verb(2, { ok: false, error: 'no' }));
    await lapse();
    await sweep();
    expect(await runsOf(agent.id)).toHaveLength(2);
  });

  it('that was itself a retry is not tried again', async () => {
    const { agent, wakeups, read } = await running();
    await lapse();
    await sweep();
    expect(await claim()).toMatchObject({ retry_of_run_id: expect.any(String) });
    await lapse();
    expect(await sweep()).toMatchObject({ status: 'failed' });
    expect((await runsOf(agent.id)).map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect((await wakeups()).every(({ status }) => status === 'consumed')).toBe(true);
    expect((await read()).issue.checked_out_by_agent_id).toBeNull();
  });

  it('of an agent paused meanwhile is not tried again; its wakeups wait for the resume', async () => {
    const { agent, wakeups, read } = await running();
    await database.db.update(agents).set({ status: 'paused' }).where(eq(agents.id, agent.id));
    await lapse();
    await sweep();
    expect(await runsOf(agent.id)).toHaveLength(1);
    expect((await wakeups()).at(-1)).toMatchObject({ status: 'pending', run_id: null });
    expect((await read()).agent.status).toBe('paused');
  });

  it('that was to be cancelled ends cancelled, without a retry', async () => {
    const { run, agent, wakeups } = await running();
    await transaction(database, async (tx) => cancelRun(tx, human, { id: run.run_id }));
    await lapse();
    expect(await sweep()).toMatchObject({ status: 'cancelled' });
    expect(await runsOf(agent.id)).toHaveLength(1);
    expect(await wakeups()).toMatchObject([{ status: 'consumed' }]);
  });

  it('leaves a checkout that the agent had before', async () => {
    const { agent, read } = await running({ held: true });
    await lapse();
    await sweep();
    expect((await read()).issue.checked_out_by_agent_id).toBe(agent.id);
  });

  it('is swept exactly once by schedulers that sweep at the same time', async () => {
    const lost = [];
    for (let n = 0; n < 6; n += 1) lost.push((await running()).run.run_id);
    await lapse();
    const swept: string[] = [];
    const drain = async () => {
      for (let run = await sweep(); run !== undefined; run = await sweep()) swept.push(run.id);
    };
    await Promise.all([drain(), drain(), drain()]);
    expect(swept.toSorted()).toEqual(lost.toSorted());
    expect(await database.db.$count(heartbeat_runs, eq(heartbeat_runs.status, 'queued'))).toBe(6);
  });

  it('whose sweep failed is passed over on demand; one with a live lease is not touched', async () => {
    const { run } = await running();
    expect(await sweep()).toBeUndefined();
    await lapse();
    expect(await sweep([run.run_id])).toBeUndefined();
    expect(await sweep()).toBeDefined();
  });
});

describe('a scheduler that slept past its lease', () => {
  it('has its last entries after those that its owner was just adding', async () => {
    const { run } = await running();
    const words = ['a', 'b', 'c'].map((text) => ({ kind: 'output', payload: { text } }) as const);
    await lapse();
    const swept = await transaction(database, async (tx) => {
      await storeRunEvents(tx, { lease: run, first_seq: 1, events: words });
      const sweeping = sweep();
      await waitFor(async () => (await waitingForLocks(database)) === 1);
      return { sweeping };
    });
    expect((await swept.sweeping)?.id).toBe(run.run_id);
    const events = await listRunEvents(database.db, actors.system, run.run_id);
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'output'],
      [2, 'output'],
      [3, 'output'],
      [4, 'error'],
      [5, 'status'],
    ]);
  });

  it('changes nothing once the run is swept', async () => {
    const { run, agent } = await running();
    await lapse();
    await sweep();
    const before = await runsOf(agent.id);
    expect(await renewLeases(database.db, 'scheduler', [run], 30)).toEqual({ held: [], lost: [run.run_id] });
    const said = [{ kind: 'output', payload: { text: 'late' } }] as const;
    expect(await storeRunEvents(database.db, { lease: run, first_seq: 2, events: said })).toBeUndefined();
    expect(await transaction(database, async (tx) => appendRunEvents(tx, run, 2, said))).toBe(false);
    expect(await recordAction(database.db, run, verb(1))).toBe(false);
    const outcome = { failure: null, text: null, usage: null, changed: true };
    expect(await transaction(database, async (tx) => finishRun(tx, run, outcome))).toBe(false);
    expect(await runsOf(agent.id)).toEqual(before);
    expect(await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.run_id)).toHaveLength(2);
  });

  it('goes on when it wakes before any sweep: the lease is renewed', async () => {
    const { run } = await running();
    await lapse();
    expect(await renewLeases(database.db, 'scheduler', [run], 30)).toEqual({
      held: [{ run_id: run.run_id, cancel_requested: false, permissions: {} }],
      lost: [],
    });
    expect(await sweep()).toBeUndefined();
  });
});

describe('renewing leases', () => {
  it('tells of cancellations, and names what is not held any more, in one statement', async () => {
    const first = (await running()).run;
    const second = (await running()).run;
    await transaction(database, async (tx) => cancelRun(tx, human, { id: second.run_id }));
    const gone = { ...first, fence: first.fence + 7 };
    const before = database.statements();
    expect(await renewLeases(database.db, 'scheduler', [gone, second], 30)).toEqual({
      held: [{ run_id: second.run_id, cancel_requested: true, permissions: {} }],
      lost: [first.run_id],
    });
    expect(database.statements() - before).toBe(1);
    expect((await renewLeases(database.db, 'another scheduler', [first], 30)).lost).toEqual([first.run_id]);
    expect(await renewLeases(database.db, 'scheduler', [], 30)).toEqual({ held: [], lost: [] });
  });
});

describe('the transcript', () => {
  it('takes a batch by one statement, twice the same without harm, and whatever text a model makes', async () => {
    const { run } = await running();
    const batch = [
      { kind: 'status', payload: { status: 'running' } },
      { kind: 'output', payload: { text: 'nul \0 half \uD83D' } },
    ] as const;
    const before = database.statements();
    const item = await storeRunEvents(database.db, { lease: run, first_seq: 1, events: batch });
    expect(database.statements() - before).toBe(1);
    expect(JSON.parse(item!)).toEqual({
      run_id: run.run_id,
      company_id: run.company_id,
      topic: `issue:${run.issue_id!}`,
      admins_only: false,
      private_to_user_id: null,
      from: 1,
      to: 2,
    });
    expect(await storeRunEvents(database.db, { lease: run, first_seq: 1, events: batch })).toBe(item);
    await transaction(database, async (tx) => appendRunEvents(tx, run, 3, batch));
    const events = await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.run_id);
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'status'],
      [2, 'output'],
      [3, 'status'],
      [4, 'output'],
    ]);
    expect(events[1]!.payload).toEqual({ text: 'nul  half \uFFFD' });
    expect(
      await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.run_id, { after: 2, limit: 1 }),
    ).toMatchObject([{ seq: 3 }]);
  });
});

describe('an action', () => {
  it('is recorded once per ordinal; a second time the caller is told to roll back', async () => {
    const { run } = await running();
    expect(await recordAction(database.db, run, verb(1, { result: 'ok\0' }))).toBe(true);
    expect(await recordAction(database.db, run, verb(1))).toBe(false);
    expect(await recordAction(database.db, run, verb(2))).toBe(true);
    const rows = await database.db.select().from(run_actions).where(eq(run_actions.run_id, run.run_id));
    expect(rows).toMatchObject([{ ordinal: 1, result: 'ok' }, { ordinal: 2 }]);
  });
});

describe('the sweep of queued runs', () => {
  it('offers again what has waited for 30 s and has room, and nothing else', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company, { max_concurrent_runs: 2 });
    const paused = await createAgent(database.db, company);
    const invoke = async (who: { id: string }) =>
      (await transaction(database, async (tx) => invokeAgent(tx, human, who))).id;
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push(await invoke(agent));
      await nextInstant();
    }
    await invoke(paused);
    await database.db.update(agents).set({ status: 'paused' }).where(eq(agents.id, paused.id));
    const offer = async (waited_sec?: number) =>
      transaction(database, async (tx) => sweepQueuedRuns(tx, waited_sec));
    expect(await offer()).toBe(0);
    expect(await offer(0)).toBe(2);
    await database.db.execute(sql`update heartbeat_runs set created_at = created_at - interval '31 seconds'`);
    expect(await offer()).toBe(2);
    expect(await queuedJobs(database.db, 'execute-run', { run_id: ids[0] })).toHaveLength(3);
    expect(await queuedJobs(database.db, 'execute-run', { run_id: ids[2] })).toHaveLength(1);
    await claim();
    expect(await offer()).toBe(1);
  });

  it('settles agents and companies that were gone before their run appeared', async () => {
    const [company, closed] = [await createCompany(database.db), await createCompany(database.db)];
    const [deleted, terminated] = [
      await createAgent(database.db, company),
      await createAgent(database.db, company),
    ];
    const [first, second] = [await createAgent(database.db, closed), await createAgent(database.db, closed)];
    for (const agent of [deleted, terminated, first, second])
      await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    await database.db.update(agents).set({ deleted_at: new Date() }).where(eq(agents.id, deleted.id));
    await database.db.update(agents).set({ status: 'terminated' }).where(eq(agents.id, terminated.id));
    await database.db.execute(sql`update companies set deleted_at = now() where id = ${closed.id}`);
    expect(await transaction(database, async (tx) => sweepQueuedRuns(tx, 0))).toBe(3);
    for (const { id: agent_id } of [deleted, terminated]) {
      expect(await queuedJobs(database.db, 'settle-agent', { agent_id })).toHaveLength(1);
      await transaction(database, async (tx) => settleAgent(tx, agent_id));
    }
    expect(await queuedJobs(database.db, 'settle-company', { company_id: closed.id })).toHaveLength(1);
    await transaction(database, async (tx) => settleCompany(tx, closed.id));
    const statuses = await database.db.select({ status: heartbeat_runs.status }).from(heartbeat_runs);
    expect(statuses).toEqual(Array.from({ length: 4 }, () => ({ status: 'cancelled' })));
  });
});
