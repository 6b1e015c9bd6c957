/** @in-order the first reads all that was told so far */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createKeyOf,
  queuedJobs,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  cancelRun,
  claimRun,
  deleteRunsBefore,
  dispatchAgent,
  finishRun,
  invokeAgent,
  listRunEvents,
  requestWakeups,
  settleAgent,
  settleCompany,
  settleIssue,
  storeRunEvents,
} from '../index.ts';

const { agent_api_keys, agents, companies, heartbeat_runs, issues, outbox, run_events, wakeup_requests } =
  schema;

let test: TestDatabase;
let database: Database;
let queue: Queue;
beforeAll(async () => {
  test = await cloneDatabase('cancel');
  ({ database } = test);
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const claim = async () =>
  transaction(database, async (tx) => claimRun(tx, { claimed_by: 'scheduler', lease_sec: 30 }));
const cancel = async (run: { id: string }) => transaction(database, async (tx) => cancelRun(tx, human, run));
const rowOf = async (id: string) =>
  (await database.db.select().from(heartbeat_runs).where(eq(heartbeat_runs.id, id)))[0]!;

/** An agent with a queued run for a wakeup of its issue. */
async function queued(max_concurrent_runs = 1) {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company, { max_concurrent_runs });
  const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
  const wake = async (issue_id: string) =>
    transaction(database, async (tx) =>
      requestWakeups(tx, human, [
        { company_id: company.id, agent_id: agent.id, issue_id, reason: 'comment' },
      ]),
    );
  await wake(issue.id);
  const [run] = await transaction(database, async (tx) => dispatchAgent(tx, agent.id));
  const wakeups = async () =>
    database.db.select().from(wakeup_requests).where(eq(wakeup_requests.agent_id, agent.id));
  return { company, agent, issue, run: run!, wake, wakeups };
}

describe('a cancel', () => {
  it('ends a queued run at once, with its wakeups, and leaves the checkout alone', async () => {
    const { run, company, wakeups } = await queued();
    expect(await cancel(run)).toMatchObject({ status: 'cancelled', error: 'cancelled by integration' });
    expect((await rowOf(run.id)).finished_at).toBeInstanceOf(Date);
    expect(await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.id)).toMatchObject([
      { seq: 1, kind: 'status', payload: { status: 'cancelled' } },
    ]);
    expect(await wakeups()).toMatchObject([{ status: 'consumed' }]);
    const told = await database.db.select().from(outbox).where(eq(outbox.company_id, company.id));
    expect(told).toMatchObject([{ type: 'heartbeat_completed', data: { status: 'cancelled' } }]);
    expect(await claim()).toBeUndefined();
  });

  it('of a queued run lets the agent go on with what waited', async () => {
    const { run, agent, company, wake } = await queued();
    const second = await createIssue(database.db, company);
    await wake(second.id);
    const before = (await queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id })).length;
    await cancel(run);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id })).toHaveLength(before + 1);
  });

  it('asks the scheduler of a running run, which ends it as cancelled', async () => {
    const { run } = await queued();
    const claimed = (await claim())!;
    const told: string[] = [];
    test.listener.on('control', (items) => told.push(...items));
    await test.listener.ready();
    // From here on the database sends its signals to the notifier.
    expect(test.notifier).toBeDefined();
    expect(await cancel(run)).toMatchObject({ status: 'running' });
    await waitFor(() => told.includes(run.id));
    const first = (await rowOf(run.id)).cancel_requested_at;
    expect(first).toBeInstanceOf(Date);
    await cancel(run);
    expect((await rowOf(run.id)).cancel_requested_at).toEqual(first);
    const outcome = { failure: null, text: 'done', usage: null, changed: true };
    await transaction(database, async (tx) => finishRun(tx, claimed, outcome));
    expect((await rowOf(run.id)).status).toBe('cancelled');
  });

  it('of a run that has ended is a conflict', async () => {
    const { run } = await queued();
    await cancel(run);
    await expect(cancel(run)).rejects.toMatchObject({ kind: 'conflict' });
  });
});

describe('what a deletion leaves behind is settled', () => {
  it('for an agent that ended: live runs cancelled, checkouts freed, wakeups cancelled; a second time changes nothing', async () => {
    const { agent, company, run, wake, wakeups } = await queued(2);
    await claim();
    const own = { checked_out_by_agent_id: agent.id, self_checkout_agent_id: agent.id };
    const other = await createIssue(database.db, company, own);
    const waiting = await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    await wake(other.id);
    const settle = async () => transaction(database, async (tx) => settleAgent(tx, agent.id));
    await settle();
    expect((await rowOf(run.id)).cancel_requested_at).toBeNull();
    await database.db.update(agents).set({ deleted_at: new Date() }).where(eq(agents.id, agent.id));
    await settle();
    const asked = await rowOf(run.id);
    expect(asked).toMatchObject({ status: 'running', cancel_requested_at: expect.any(Date) });
    expect(await rowOf(waiting.id)).toMatchObject({ id: run.id });
    expect((await wakeups()).map(({ status }) => status).toSorted()).toEqual(['cancelled', 'consumed']);
    const held = await database.db.$count(issues, eq(issues.checked_out_by_agent_id, agent.id));
    expect(held).toBe(0);
    await settle();
    expect(await rowOf(run.id)).toEqual(asked);
  });

  it('for an issue in the trash: its runs and those of the issues below it', async () => {
    const { company, agent, issue, run, wakeups } = await queued(3);
    const child = await createIssue(database.db, company, {
      parent_issue_id: issue.id,
      assignee_agent_id: agent.id,
    });
    const below = await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    expect(below.issue_id).toBe(child.id);
    const settle = async () => transaction(database, async (tx) => settleIssue(tx, issue.id));
    await settle();
    expect((await rowOf(run.id)).status).toBe('queued');
    await database.db.update(issues).set({ deleted_at: new Date() }).where(eq(issues.id, issue.id));
    await settle();
    expect(await rowOf(run.id)).toMatchObject({ status: 'cancelled', error: 'issue was deleted' });
    expect((await rowOf(below.id)).status).toBe('cancelled');
    expect(await wakeups()).toMatchObject([{ status: 'cancelled' }]);
  });

  it('for a company in the trash: all its runs, wakeups and agents’ keys, and nobody else’s', async () => {
    const { company, agent, run, wakeups } = await queued();
    const elsewhere = await queued();
    await createKeyOf(database.db, agent);
    const keys = async () => database.db.$count(agent_api_keys, eq(agent_api_keys.agent_id, agent.id));
    const settle = async () => transaction(database, async (tx) => settleCompany(tx, company.id));
    await settle();
    expect([(await rowOf(run.id)).status, await keys()]).toEqual(['queued', 1]);
    await database.db.update(companies).set({ deleted_at: new Date() }).where(eq(companies.id, company.id));
    await settle();
    expect(await keys()).toBe(0);
    expect((await rowOf(run.id)).status).toBe('cancelled');
    expect(await wakeups()).toMatchObject([{ status: 'cancelled' }]);
    expect((await rowOf(elsewhere.run.id)).status).toBe('queued');
  });
});

describe('retention', () => {
  it('forgets runs that ended long ago, with their transcripts, some at a time', async () => {
    const { run } = await queued();
    const claimed = (await claim())!;
    await storeRunEvents(database.db, {
      lease: claimed,
      first_seq: 1,
      events: [{ kind: 'output', payload: {} }],
    });
    const outcome = { failure: null, text: null, usage: null, changed: true };
    await transaction(database, async (tx) => finishRun(tx, claimed, outcome));
    const live = await queued();
    expect(await deleteRunsBefore(database.db, 90, 10)).toBe(0);
    await database.db.execute(sql`
      update heartbeat_runs set finished_at = finished_at - interval '102 days', created_at = created_at - interval '102 days'`);
    expect(await deleteRunsBefore(database.db, 90, 0)).toBe(0);
    expect(await deleteRunsBefore(database.db, 90, 10)).toBe(1);
    expect(await rowOf(run.id)).toBeUndefined();
    expect(await database.db.$count(run_events, eq(run_events.run_id, run.id))).toBe(0);
    expect(await rowOf(live.run.id)).toBeDefined();
  });
});
