import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  queuedJobs,
  nextInstant,
} from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import { dispatchAgent, invokeAgent, putSetting, requestWakeups, triggerIssue } from '../index.ts';

const { activity, agents, companies, heartbeat_runs, issues, providers, wakeup_requests } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp(values: Partial<typeof agents.$inferInsert> = {}) {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company, values);
  const human = actors.user(await createUser(database.db, { display_name: 'Grace' }));
  const wake = async (issue_id: string | null, reason: 'comment' | 'schedule' | 'manual' = 'comment') =>
    transaction(database, async (tx) =>
      requestWakeups(tx, human, [{ company_id: company.id, agent_id: agent.id, issue_id, reason }]),
    );
  const addIssue = async (more: Partial<typeof issues.$inferInsert> = {}) =>
    createIssue(database.db, company, { assignee_agent_id: agent.id, ...more });
  return { company, agent, human, wake, addIssue };
}

const invoke = async (actor: Parameters<typeof invokeAgent>[1], agent: { id: string }) =>
  transaction(database, async (tx) => invokeAgent(tx, actor, agent));
const trigger = async (
  actor: Parameters<typeof triggerIssue>[1],
  issue: Parameters<typeof triggerIssue>[2],
) => transaction(database, async (tx) => triggerIssue(tx, actor, issue));
const dispatch = async (agent: { id: string }) =>
  transaction(database, async (tx) => dispatchAgent(tx, agent.id));
const finishAll = async (agent: { id: string }) =>
  database.db
    .update(heartbeat_runs)
    .set({ status: 'succeeded' })
    .where(eq(heartbeat_runs.agent_id, agent.id));

describe('a paused provider', () => {
  it('keeps wakeups pending until its quota is reset, and lets a run by hand tell why it fails', async () => {
    const { company, agent, human, wake, addIssue } = await setUp();
    const [provider] = await database.db
      .insert(providers)
      .values({
        company_id: company.id,
        name: 'Main',
        adapter_type: 'family_chat_a',
        paused_until: new Date(Date.now() + 60_000),
      })
      .returning();
    await database.db.update(agents).set({ provider_id: provider!.id }).where(eq(agents.id, agent.id));
    const issue = await addIssue();
    await wake(issue.id);
    await wake(null, 'schedule');
    expect(await dispatch(agent)).toEqual([]);
    const pending = await database.db
      .select({ status: wakeup_requests.status, run_id: wakeup_requests.run_id })
      .from(wakeup_requests)
      .where(eq(wakeup_requests.agent_id, agent.id));
    expect(pending).toEqual(Array.from({ length: 2 }, () => ({ status: 'pending', run_id: null })));
    expect((await trigger(human, await addIssue())).status).toBe('queued');
    await finishAll(agent);
    await database.db.update(providers).set({ paused_until: new Date(Date.now() - 1000) });
    expect(await dispatch(agent)).toMatchObject([{ issue_id: issue.id, wake_reason: 'comment' }]);
  });
});

describe('an invoke', () => {
  it('queues a run without an issue for an agent with nothing to do, with job and activity', async () => {
    const { agent, human } = await setUp({ adapter_type: 'unheard-of' });
    const run = await invoke(human, agent);
    expect(run).toMatchObject({
      agent_id: agent.id,
      issue_id: null,
      status: 'queued',
      wake_reason: 'manual',
      trigger_detail: 'invoked by Grace',
      adapter_type: 'llm',
      cost_usd: 0,
    });
    expect(await queuedJobs(database.db, 'execute-run', { run_id: run.id })).toHaveLength(1);
    const [entry] = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.entity_id, run.id), eq(activity.action, 'run.queued')));
    expect(entry).toMatchObject({ actor_name: 'Grace', details: { agent_id: agent.id } });
    expect((await invoke(human, agent)).id).not.toBe(run.id);
  });

  it('takes the issue of the oldest wakeup before the assigned ones, and binds the wakeup', async () => {
    const { company, agent, human, wake, addIssue } = await setUp();
    await addIssue();
    const mentioned = await createIssue(database.db, company);
    await wake(mentioned.id);
    const run = await invoke(human, agent);
    expect(run.issue_id).toBe(mentioned.id);
    const [wakeup] = await database.db
      .select()
      .from(wakeup_requests)
      .where(eq(wakeup_requests.agent_id, agent.id));
    expect(wakeup).toMatchObject({ status: 'pending', run_id: run.id });
  });

  it('takes the most urgent actionable issue, else answers the live run of the work there is', async () => {
    const { agent, human, addIssue } = await setUp();
    await addIssue({ status: 'backlog', priority: 'critical' });
    await addIssue({ stalled_runs: 5, priority: 'critical' });
    const normal = await addIssue();
    const urgent = await addIssue({ priority: 'high' });
    const first = await invoke(human, agent);
    await nextInstant();
    const second = await invoke(human, agent);
    expect([first.issue_id, second.issue_id]).toEqual([urgent.id, normal.id]);
    expect((await invoke(human, agent)).id).toBe(first.id);
  });

  it('costs four statements beside the transaction', async () => {
    const { agent, human, addIssue } = await setUp();
    await addIssue();
    const before = database.statements();
    await invoke(human, agent);
    expect(database.statements() - before).toBe(2 + 4);
  });

  it.each([
    ['paused', 'agent is paused'],
    ['pending_approval', 'agent is pending approval'],
    ['terminated', 'agent is terminated'],
  ])('of an agent that is %s is a conflict', async (status, message) => {
    const { agent, human } = await setUp({ status });
    await expect(invoke(human, agent)).rejects.toMatchObject({ kind: 'conflict', message });
    expect(await database.db.$count(heartbeat_runs, eq(heartbeat_runs.agent_id, agent.id))).toBe(0);
  });

  it('of an agent in the trash, or of a trashed company, is not found', async () => {
    const { agent, company, human } = await setUp();
    await database.db.update(companies).set({ deleted_at: new Date() }).where(eq(companies.id, company.id));
    await expect(invoke(human, agent)).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('during the emergency stop is a conflict', async () => {
    const { agent, human } = await setUp();
    const stopped = transaction(database, async (tx) => {
      await putSetting(tx, 'runs_paused', true);
      await invokeAgent(tx, human, agent);
    });
    await expect(stopped).rejects.toMatchObject({ kind: 'conflict', message: /runs are paused/ });
  });

  it('by an agent continues its chain of causes, which ends', async () => {
    const { agent } = await setUp();
    const self = (depth: number) => actors.agent(agent, { depth });
    const run = await invoke(self(11), agent);
    const [row] = await database.db.select().from(heartbeat_runs).where(eq(heartbeat_runs.id, run.id));
    expect(row!.depth).toBe(12);
    await expect(invoke(self(12), agent)).rejects.toMatchObject({ kind: 'conflict' });
  });
});

describe('a trigger of an issue', () => {
  it('runs the assignee whatever the status, and answers the live run from then on', async () => {
    const { agent, human, addIssue } = await setUp();
    const issue = await addIssue({ status: 'done' });
    const run = await trigger(human, issue);
    expect(run).toMatchObject({
      issue_id: issue.id,
      agent_id: agent.id,
      trigger_detail: 'triggered by Grace',
    });
    expect((await trigger(human, issue)).id).toBe(run.id);
  });

  it('at the same time by many makes one run', async () => {
    const { human, addIssue } = await setUp();
    const issue = await addIssue();
    const runs = await Promise.all(Array.from({ length: 5 }, async () => trigger(human, issue)));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
  });

  it('without an assignee is invalid; on an issue that another agent holds it is a conflict', async () => {
    const { company, human, addIssue } = await setUp();
    const unassigned = await createIssue(database.db, company);
    await expect(trigger(human, unassigned)).rejects.toMatchObject({ kind: 'invalid' });
    const other = await createAgent(database.db, company);
    const held = await addIssue({ checked_out_by_agent_id: other.id });
    await expect(trigger(human, held)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('by a human passes the loop breaker, by an agent it does not', async () => {
    const { company, human, addIssue } = await setUp();
    const stalled = await addIssue({ stalled_runs: 5 });
    const other = actors.agent(await createAgent(database.db, company));
    await expect(trigger(other, stalled)).rejects.toMatchObject({ message: 'issue needs human attention' });
    expect((await trigger(human, stalled)).status).toBe('queued');
  });
});

describe('a dispatch', () => {
  it('admits a run per wakeup, within the limit; the rest waits', async () => {
    const { agent, wake, addIssue } = await setUp({ max_concurrent_runs: 2 });
    const made = [await addIssue(), await addIssue(), await addIssue()];
    for (const issue of made) {
      await wake(issue.id);
      await nextInstant();
    }
    const runs = await dispatch(agent);
    expect(new Set(runs.map(({ issue_id }) => issue_id))).toEqual(
      new Set(made.slice(0, 2).map(({ id }) => id)),
    );
    expect(runs[0]).toMatchObject({ wake_reason: 'comment', trigger_detail: null });
    expect(await dispatch(agent)).toEqual([]);
    await finishAll(agent);
    expect(await dispatch(agent)).toMatchObject([{ issue_id: made[2]!.id }]);
  });

  it('leaves wakeups for issues that have a live run or that another agent holds', async () => {
    const { company, agent, human, wake, addIssue } = await setUp({ max_concurrent_runs: 5 });
    const other = await createAgent(database.db, company);
    const busy = await addIssue({ assignee_agent_id: other.id });
    await invoke(human, other);
    const held = await addIssue({ checked_out_by_agent_id: other.id });
    await wake(busy.id);
    await wake(held.id);
    expect(await dispatch(agent)).toEqual([]);
    await finishAll(other);
    expect(await dispatch(agent)).toMatchObject([{ issue_id: busy.id }]);
  });

  it('for a heartbeat starts runs on actionable issues, else one without an issue', async () => {
    const { agent, wake, addIssue } = await setUp({ max_concurrent_runs: 3, max_issues_per_run: 2 });
    await addIssue({ needs_routing: true });
    const made = [await addIssue(), await addIssue(), await addIssue()];
    await wake(null, 'schedule');
    const runs = await dispatch(agent);
    expect(runs.map(({ issue_id }) => issue_id)).toEqual([made[0]!.id, made[1]!.id]);
    const { agent: idle, wake: wakeIdle } = await setUp();
    await wakeIdle(null, 'schedule');
    expect(await dispatch(idle)).toMatchObject([{ issue_id: null, wake_reason: 'schedule' }]);
  });

  it('of one agent by many at once fills its room only once', async () => {
    const { agent, wake, addIssue } = await setUp({ max_concurrent_runs: 2 });
    for (let n = 0; n < 4; n += 1) await wake((await addIssue()).id);
    const made = await Promise.all(Array.from({ length: 5 }, async () => dispatch(agent)));
    expect(made.flat()).toHaveLength(2);
  });

  it('costs six statements beside the transaction, two where there is nothing to do', async () => {
    const { agent, wake, addIssue } = await setUp({ max_concurrent_runs: 3 });
    for (let n = 0; n < 3; n += 1) await wake((await addIssue()).id);
    const before = database.statements();
    expect(await dispatch(agent)).toHaveLength(3);
    const between = database.statements();
    expect(between - before).toBe(2 + 6);
    await finishAll(agent);
    const then = database.statements();
    await dispatch(agent);
    expect(database.statements() - then).toBe(2 + 2);
  });

  it('of a paused or unknown agent does nothing; a resumed one gets its stranded runs offered', async () => {
    const { agent, human } = await setUp({ max_concurrent_runs: 2 });
    const run = await invoke(human, agent);
    // No matter how short the pause was during which its job ran.
    await dispatch(agent);
    expect(await queuedJobs(database.db, 'execute-run', { run_id: run.id })).toHaveLength(2);
    expect(await dispatch({ id: '00000000-0000-4000-8000-000000000000' })).toEqual([]);
  });

  it('stops at an issue on which agents wake each other in circles', async () => {
    const { company, agent, addIssue } = await setUp();
    const other = actors.agent(await createAgent(database.db, company));
    const issue = await addIssue({ stalled_runs: 4 });
    await transaction(database, async (tx) =>
      requestWakeups(tx, other, [
        { company_id: company.id, agent_id: agent.id, issue_id: issue.id, reason: 'comment' },
      ]),
    );
    await database.db.update(issues).set({ stalled_runs: 5 }).where(eq(issues.id, issue.id));
    expect(await dispatch(agent)).toEqual([]);
  });
});
