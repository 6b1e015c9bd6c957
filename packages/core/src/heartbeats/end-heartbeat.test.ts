import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  meetAt,
  queuedJobs,
} from '@acp/testkit';
import { and, desc, eq, sql } from 'drizzle-orm';
import {
  cancelRun,
  checkoutIssue,
  type ClaimedRun,
  claimRun,
  clearSessions,
  findAgent,
  finishRun,
  invokeAgent,
  releaseIssue,
  requestWakeups,
  type RunResult,
} from '../index.ts';

const {
  activity,
  agent_runtime_states,
  agents,
  comments,
  cost_events,
  heartbeat_runs,
  issues,
  outbox,
  task_sessions,
} = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('finish'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const usage = {
  provider: 'family_compat',
  model: 'small',
  input_tokens: 1000,
  output_tokens: 200,
  cached_tokens: 300,
  usage_missing: false,
  price_estimated: false,
  cost_usd: '0.00123456',
};
const succeeded: RunResult = {
  failure: null,
  text: 'I did it.',
  usage,
  changed: true,
};
const finish = async (run: ClaimedRun, outcome: RunResult = succeeded) =>
  transaction(database, async (tx) => finishRun(tx, run, outcome));
const claim = async () =>
  transaction(database, async (tx) => claimRun(tx, { claimed_by: 'scheduler', lease_sec: 30 }));

/** A claimed run of an agent on its issue. */
async function running(of: { held?: boolean; stalled_runs?: number } = {}) {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const made = await createIssue(database.db, company, {
    assignee_agent_id: agent.id,
    stalled_runs: of.stalled_runs ?? 0,
    checked_out_by_agent_id: of.held ? agent.id : null,
  });
  await transaction(database, async (tx) => invokeAgent(tx, human, agent));
  const run = (await claim())!;
  const read = async () => ({
    row: (await database.db.select().from(heartbeat_runs).where(eq(heartbeat_runs.id, run.run_id)))[0]!,
    issue: (await database.db.select().from(issues).where(eq(issues.id, made.id)))[0]!,
    agent: (await database.db.select().from(agents).where(eq(agents.id, agent.id)))[0]!,
    state: (
      await database.db.select().from(agent_runtime_states).where(eq(agent_runtime_states.agent_id, agent.id))
    )[0]!,
    comments: await database.db.select().from(comments).where(eq(comments.issue_id, made.id)),
    costs: await database.db.select().from(cost_events).where(eq(cost_events.run_id, run.run_id)),
  });
  return { company, agent, issue: made, run, read };
}

describe('the end of a run', () => {
  it('posts the prose as the agent, gives the checkout back, records cost and outcome, and makes the agent idle', async () => {
    const { run, agent, read } = await running();
    expect(await finish(run)).toBe(true);
    const after = await read();
    expect(after.row).toMatchObject({
      status: 'succeeded',
      summary: 'I did it.',
      error: null,
      model: 'small',
      input_tokens: 1000,
      output_tokens: 200,
      cached_tokens: 300,
      cost_usd: '0.00123456',
      lease_expires_at: null,
      finished_at: expect.any(Date),
    });
    expect(after.comments).toMatchObject([
      { author_agent_id: agent.id, body_markdown: 'I did it.', run_id: run.run_id },
    ]);
    expect(after.issue).toMatchObject({
      checked_out_by_agent_id: null,
      checkout_run_id: null,
      stalled_runs: 0,
    });
    expect(after.agent.status).toBe('idle');
    expect(after.state).toMatchObject({ current_run_id: null, last_error: null });
    expect(after.costs).toMatchObject([
      { provider: 'family_compat', model: 'small', cost_usd: '0.00123456', agent_id: agent.id },
    ]);
  });

  it('costs seven statements, transcript, comment, cost and task session included', async () => {
    const { run } = await running();
    const before = database.statements();
    await finish(run);
    expect(database.statements() - before).toBe(7);
  });

  it('is told once, as the last of its events', async () => {
    const { run, company } = await running();
    await finish(run);
    const told = await database.db
      .select()
      .from(outbox)
      .where(eq(outbox.company_id, company.id))
      .orderBy(desc(outbox.id));
    expect(told[0]).toMatchObject({
      type: 'heartbeat_completed',
      data: { id: run.run_id, status: 'succeeded', cost_usd: 0.00123456 },
    });
    expect(told.filter(({ type }) => type === 'heartbeat_completed')).toHaveLength(1);
    expect(told.some(({ type }) => type === 'comment_created')).toBe(true);
    const [entry] = await database.db.select().from(activity).where(eq(activity.action, 'run.succeeded'));
    expect(entry).toMatchObject({ actor_type: 'agent', entity_type: 'run' });
  });

  it('keeps a checkout that the agent had before the run', async () => {
    const { run, agent, read } = await running({ held: true });
    await finish(run);
    expect((await read()).issue.checked_out_by_agent_id).toBe(agent.id);
  });

  it('gives back a checkout that the agent had before, released in the run and took again', async () => {
    const { run, issue, read } = await running({ held: true });
    await transaction(database, async (tx) => releaseIssue(tx, run.actor, issue));
    await transaction(database, async (tx) => checkoutIssue(tx, run.actor, issue));
    expect((await read()).issue.checked_out_by_agent_id).toBe(run.agent_id);
    await finish(run);
    expect((await read()).issue).toMatchObject({ checked_out_by_agent_id: null, checkout_run_id: null });
  });

  it('in failure keeps error and category, posts what was said, and leaves the agent in error', async () => {
    const { run, read } = await running();
    await finish(run, {
      failure: { category: 'config', message: 'no such model' },
      text: 'I began.',
      usage: null,
      changed: false,
    });
    const after = await read();
    expect(after.row).toMatchObject({ status: 'failed', error: 'no such model', error_category: 'config' });
    expect(after.agent.status).toBe('error');
    expect(after.state.last_error).toBe('no such model');
    expect(after.comments).toHaveLength(1);
    expect(after.costs).toEqual([]);
    expect(after.issue.checked_out_by_agent_id).toBeNull();
  });

  it('in failure is told on the issue until the next run; one that a budget stopped is not', async () => {
    const { run, agent, company, read } = await running();
    const failed = { ...succeeded, text: null, changed: false };
    await finish(run, { ...failed, failure: { category: 'config', message: 'no such model' } });
    expect((await read()).issue).toMatchObject({ run_failed: true });
    const [told] = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.company_id, company.id), eq(activity.action, 'issue.run_failed')));
    expect(told?.details).toMatchObject({ run_id: run.run_id, error: 'no such model' });
    await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    const again = (await claim())!;
    expect((await read()).issue).toMatchObject({ run_failed: false });
    await finish(again, { ...failed, failure: { category: 'budget', message: 'used up' } });
    expect((await read()).issue).toMatchObject({ run_failed: false });
  });

  it('posts nothing when there is no prose, and survives what a database cannot hold', async () => {
    const first = await running();
    await finish(first.run, { ...succeeded, text: ' \n ' });
    expect((await first.read()).comments).toEqual([]);
    const second = await running();
    await finish(second.run, { ...succeeded, text: `a\0b\uD800${'x\0'.repeat(3000)}` });
    const after = await second.read();
    expect(after.comments[0]!.body_markdown).toBe(`ab\uFFFD${'x'.repeat(3000)}`);
    expect(after.row.summary).toMatch(/^ab\uFFFDx{1995}$/);
  });

  it('without a change counts against the loop breaker; the fifth in a row asks for a human', async () => {
    const { run, read } = await running({ stalled_runs: 3 });
    await finish(run, { ...succeeded, changed: false });
    expect((await read()).issue).toMatchObject({ stalled_runs: 4, needs_human_attention: false });
    const again = await running({ stalled_runs: 4 });
    await finish(again.run, { ...succeeded, changed: false });
    expect((await again.read()).issue).toMatchObject({ stalled_runs: 5, needs_human_attention: true });
  });

  it('of a run that was called off leaves loop breaker and agent alone and posts nothing, however the run ended', async () => {
    const { run, read } = await running({ stalled_runs: 2 });
    await transaction(database, async (tx) => cancelRun(tx, human, { id: run.run_id }));
    await finish(run, { ...succeeded, changed: false });
    const after = await read();
    expect(after.row).toMatchObject({ status: 'cancelled', error: null, summary: 'I did it.' });
    expect(after.comments).toEqual([]);
    expect(after.costs).toHaveLength(1);
    expect(after.issue.stalled_runs).toBe(2);
    expect(after.agent.status).toBe('idle');
  });

  it('dispatches those whom the run held up, and offers the next queued run of its agent', async () => {
    const { run, agent, company, issue } = await running();
    const other = await createAgent(database.db, company);
    const wakeup = { company_id: company.id, issue_id: issue.id, reason: 'comment' } as const;
    await transaction(database, async (tx) => {
      await requestWakeups(tx, human, [
        { ...wakeup, agent_id: agent.id },
        { ...wakeup, agent_id: other.id },
      ]);
    });
    const next = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    const queued = await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    expect(queued.issue_id).toBe(next.id);
    await finish(run);
    for (const agent_id of [agent.id, other.id]) {
      expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id })).toHaveLength(2);
    }
    expect(await queuedJobs(database.db, 'execute-run', { run_id: queued.id })).toHaveLength(2);
  });

  it('wakes whom the prose mentions, never its author', async () => {
    const { run, agent, company } = await running();
    const ada = await createAgent(database.db, company, { name: 'Ada' });
    await finish(run, { ...succeeded, text: `@Ada please look; @"${agent.name}" did it.` });
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: ada.id })).toHaveLength(1);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id })).toEqual([]);
  });

  it('comes only once: a second one, or one with a lost fence, writes nothing', async () => {
    const { run, read } = await running();
    expect(await finish({ ...run, fence: run.fence - 1 })).toBe(false);
    expect((await read()).row.status).toBe('running');
    expect(await finish(run)).toBe(true);
    expect(await finish(run)).toBe(false);
    const after = await read();
    expect(after.comments).toHaveLength(1);
    expect(after.costs).toHaveLength(1);
  });

  it('takes turns with somebody who clears the sessions of its agent', async () => {
    const { agent, run, issue } = await running();
    await database.db
      .insert(task_sessions)
      .values({ company_id: agent.company_id, agent_id: agent.id, issue_id: issue.id });
    const cut = { category: 'budget', message: 'no money' };
    const subject = (await findAgent(database.db, agent.id))!;
    const outcomes = await meetAt(
      database,
      sql`select from agent_runtime_states where agent_id = ${agent.id} for update`,
      [
        async (tx) => finishRun(tx, run, { ...succeeded, failure: cut }),
        async (tx) => clearSessions(tx, human, subject),
      ],
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });

  it('of a run whose issue went to the trash posts nothing there', async () => {
    const { run, issue, read } = await running();
    await database.db
      .update(issues)
      .set({ deleted_at: sql`now()` })
      .where(eq(issues.id, issue.id));
    expect(await finish(run)).toBe(true);
    expect((await read()).comments).toEqual([]);
    expect((await read()).row.status).toBe('succeeded');
  });
});
