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
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  claimRun,
  claimRuns,
  dispatchAgent,
  finishRun,
  invokeAgent,
  listRunEvents,
  putSetting,
  requestWakeups,
  triggerIssue,
} from '../index.ts';

const { activity, agents, events, heartbeat_runs, issues, outbox, wakeup_requests } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  // The claim considers all companies, so other tests' runs must not interfere.
  ({ database } = await cloneDatabase('claim'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
  await database.db.execute(sql`delete from instance_settings`);
});

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const claim = async (claimed_by = 'scheduler-1') =>
  transaction(database, async (tx) => claimRun(tx, { claimed_by, lease_sec: 30 }));
const claimAtOnce = async (most: number, claimed_by = 'scheduler-1') =>
  transaction(database, async (tx) => claimRuns(tx, { claimed_by, lease_sec: 30 }, most));
const invoke = async (agent: { id: string }) =>
  transaction(database, async (tx) => invokeAgent(tx, human, agent));
/** Each in a transaction of its own: the order of two runs with the same timestamp is undefined. */
async function invokeInTurn(agent: { id: string }, count: number) {
  const runs: Awaited<ReturnType<typeof invoke>>[] = [];
  for (let n = 0; n < count; n += 1) {
    runs.push(await invoke(agent));
    await nextInstant();
  }
  return runs;
}
const waiting = eq(heartbeat_runs.status, 'queued');
const rowOf = async (id: string) =>
  (await database.db.select().from(heartbeat_runs).where(eq(heartbeat_runs.id, id)))[0]!;

async function companyWithAgent(values: Partial<typeof agents.$inferInsert> = {}) {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company, values);
  return { company, agent };
}

describe('a claim', () => {
  it('makes the queued run running, with lease, fence and the agent as its actor', async () => {
    const { company, agent } = await companyWithAgent({ permissions: { 'issues.create': false } });
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    const run = await invoke(agent);
    const claimed = await claim();
    expect(claimed).toMatchObject({
      run_id: run.id,
      company_id: company.id,
      agent_id: agent.id,
      issue_id: issue.id,
      fence: 1,
      actor: { kind: 'agent', agent_id: agent.id, run_id: run.id, permissions: { 'issues.create': false } },
    });
    const row = await rowOf(run.id);
    expect(row).toMatchObject({ status: 'running', claimed_by: 'scheduler-1', fence: 1 });
    expect(row.lease_expires_at!.getTime() - row.started_at!.getTime()).toBe(30_000);
    const [held] = await database.db.select().from(issues).where(eq(issues.id, issue.id));
    expect(held).toMatchObject({ checked_out_by_agent_id: agent.id, checkout_run_id: run.id });
    const [working] = await database.db.select().from(agents).where(eq(agents.id, agent.id));
    expect(working!.status).toBe('running');
    const published = await database.db
      .select({ type: outbox.type })
      .from(outbox)
      .where(eq(outbox.company_id, company.id))
      .orderBy(outbox.id);
    expect(published.map(({ type }) => type)).toEqual([
      'heartbeat_started',
      'issue_updated',
      'agent_updated',
    ]);
    expect(await database.db.$count(events)).toBe(0);
  });

  it('finds nothing where nothing is queued', async () => {
    expect(await claim()).toBeUndefined();
  });

  it('consumes the wakeups that the run was admitted for', async () => {
    const { company, agent } = await companyWithAgent();
    const issue = await createIssue(database.db, company);
    await transaction(database, async (tx) =>
      requestWakeups(tx, human, [
        { company_id: company.id, agent_id: agent.id, issue_id: issue.id, reason: 'mention' },
      ]),
    );
    const [run] = await transaction(database, async (tx) => dispatchAgent(tx, agent.id));
    expect(await claim()).toMatchObject({ run_id: run!.id, wake_reason: 'mention' });
    const [wakeup] = await database.db
      .select()
      .from(wakeup_requests)
      .where(eq(wakeup_requests.agent_id, agent.id));
    expect(wakeup).toMatchObject({ status: 'consumed', run_id: run!.id });
  });

  it('leaves a checkout as it is that the agent had itself', async () => {
    const { company, agent } = await companyWithAgent();
    await createIssue(database.db, company, {
      assignee_agent_id: agent.id,
      checked_out_by_agent_id: agent.id,
      checked_out_at: new Date('2026-01-01T00:00:00Z'),
    });
    await invoke(agent);
    const { issue_id } = (await claim())!;
    const [held] = await database.db.select().from(issues).where(eq(issues.id, issue_id!));
    expect(held).toMatchObject({ checkout_run_id: null, checked_out_at: new Date('2026-01-01T00:00:00Z') });
  });

  it('cancels a run whose issue another agent took meanwhile; its wakeups wait and the next run gets a job', async () => {
    const { company, agent } = await companyWithAgent();
    const other = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    await transaction(database, async (tx) =>
      requestWakeups(tx, human, [
        { company_id: company.id, agent_id: agent.id, issue_id: issue.id, reason: 'comment' },
      ]),
    );
    const run = await transaction(database, async (tx) => triggerIssue(tx, human, issue));
    await database.db
      .update(issues)
      .set({ checked_out_by_agent_id: other.id })
      .where(eq(issues.id, issue.id));
    const dispatches = async () => queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id });
    const before = (await dispatches()).length;
    expect(await claim()).toBeUndefined();
    expect(await rowOf(run.id)).toMatchObject({
      status: 'cancelled',
      error: 'issue is checked out by another agent',
      lease_expires_at: null,
    });
    expect(
      (await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.id)).at(-1)!.payload,
    ).toEqual({ status: 'cancelled' });
    const [wakeup] = await database.db
      .select()
      .from(wakeup_requests)
      .where(eq(wakeup_requests.agent_id, agent.id));
    expect(wakeup).toMatchObject({ status: 'pending', run_id: null });
    expect(await queuedJobs(database.db, 'execute-run', { run_id: run.id })).toHaveLength(2);
    // Other wakeups of the agent may have been waiting for the slot that it releases.
    expect(await dispatches()).toHaveLength(before + 1);
  });

  it('costs seven statements, transaction included', async () => {
    const { company, agent } = await companyWithAgent();
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    await transaction(database, async (tx) =>
      requestWakeups(tx, human, [
        { company_id: company.id, agent_id: agent.id, issue_id: issue.id, reason: 'comment' },
      ]),
    );
    await invoke(agent);
    const before = database.statements();
    expect(await claim()).toBeDefined();
    expect(database.statements() - before).toBe(6);
  });
});

describe('what a claim passes over', () => {
  it('an agent at its limit, until one of its runs ends', async () => {
    const { agent } = await companyWithAgent({ max_concurrent_runs: 2 });
    const runs = await invokeInTurn(agent, 3);
    expect((await claim())?.run_id).toBe(runs[0]!.id);
    expect((await claim())?.run_id).toBe(runs[1]!.id);
    expect(await claim()).toBeUndefined();
    await database.db.execute(
      sql`update heartbeat_runs set status = 'failed', finished_at = now() where id = ${runs[0]!.id}`,
    );
    expect((await claim())?.run_id).toBe(runs[2]!.id);
  });

  it.each(['paused', 'pending_approval', 'terminated'])('an agent that is %s', async (status) => {
    const { agent } = await companyWithAgent();
    await invoke(agent);
    await database.db.update(agents).set({ status }).where(eq(agents.id, agent.id));
    expect(await claim()).toBeUndefined();
  });

  it('agents and companies in the trash', async () => {
    const { agent } = await companyWithAgent();
    await invoke(agent);
    await database.db
      .update(agents)
      .set({ deleted_at: sql`now()` })
      .where(eq(agents.id, agent.id));
    const { company, agent: second } = await companyWithAgent();
    await invoke(second);
    await database.db.execute(sql`update companies set deleted_at = now() where id = ${company.id}`);
    expect(await claim()).toBeUndefined();
  });

  it('everything while the emergency stop holds', async () => {
    const { agent } = await companyWithAgent();
    await invoke(agent);
    await putSetting(database.db, 'runs_paused', true);
    expect(await claim()).toBeUndefined();
    await putSetting(database.db, 'runs_paused', false);
    expect(await claim()).toBeDefined();
  });

  it('a company at the limit of companies', async () => {
    const { agent } = await companyWithAgent({ max_concurrent_runs: 5 });
    const { agent: elsewhere } = await companyWithAgent({ max_concurrent_runs: 5 });
    await putSetting(database.db, 'company_max_concurrent_runs', 1);
    await invoke(agent);
    await invoke(agent);
    await nextInstant();
    await invoke(elsewhere);
    expect((await claim())?.agent_id).toBe(agent.id);
    expect((await claim())?.agent_id).toBe(elsewhere.id);
    expect(await claim()).toBeUndefined();
  });

  it('a company at that limit, also when its agents’ runs are claimed at once, until one of them ends', async () => {
    const company = await createCompany(database.db);
    await putSetting(database.db, 'company_max_concurrent_runs', 2);
    for (let n = 0; n < 6; n += 1) await invoke(await createAgent(database.db, company));
    const claims = await Promise.all(Array.from({ length: 6 }, async (_, n) => claim(`scheduler-${n}`)));
    const [first, ...others] = claims.filter((run) => run !== undefined);
    expect(others).toHaveLength(1);
    const [next] = await database.db
      .select()
      .from(heartbeat_runs)
      .where(waiting)
      .orderBy(heartbeat_runs.created_at);
    const offers = async () => queuedJobs(database.db, 'execute-run', { run_id: next!.id });
    const before = (await offers()).length;
    const outcome = { failure: null, text: null, usage: null, changed: true };
    expect(await transaction(database, async (tx) => finishRun(tx, first!, outcome))).toBe(true);
    expect(await offers()).toHaveLength(before + 1);
    expect(await claim()).toBeDefined();
  });
});

describe('fairness', () => {
  it('a backlog of one company does not starve another: the company with fewer running runs comes first', async () => {
    const { agent: busy } = await companyWithAgent({ max_concurrent_runs: 10 });
    const { agent: quiet } = await companyWithAgent();
    const backlog = await invokeInTurn(busy, 4);
    const late = await invoke(quiet);
    const order = [await claim(), await claim(), await claim()];
    expect(order.map((run) => run?.run_id)).toEqual([backlog[0]!.id, late.id, backlog[1]!.id]);
  });
});

describe('claims at once', () => {
  it('take the fairest, one of each agent, and count the ones that they take along', async () => {
    const { company, agent: busy } = await companyWithAgent({ max_concurrent_runs: 10 });
    const second = await createAgent(database.db, company, { max_concurrent_runs: 10 });
    const backlog = await invokeInTurn(busy, 3);
    const [later] = await invokeInTurn(second, 2);
    const { agent: quiet } = await companyWithAgent();
    const late = await invoke(quiet);
    const ids = async (most: number) =>
      (await claimAtOnce(most)).flatMap((run) => run?.run_id ?? 'refused').toSorted();
    expect(await ids(2)).toEqual([backlog[0]!.id, late.id].toSorted());
    expect(await ids(8)).toEqual([backlog[1]!.id, later!.id].toSorted());
    expect(await rowOf(later!.id)).toMatchObject({ status: 'running', claimed_by: 'scheduler-1', fence: 1 });
  });

  it('cost as much as one, each with its issue, its actor and its events', async () => {
    const company = await createCompany(database.db);
    const made = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const agent = await createAgent(database.db, company);
        const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
        return { agent, issue, run: await invoke(agent) };
      }),
    );
    const before = database.statements();
    const claimed = await claimAtOnce(8);
    expect(database.statements() - before).toBe(6);
    for (const { agent, issue, run } of made) {
      const mine = claimed.find((each) => each?.run_id === run.id);
      expect(mine).toMatchObject({ agent_id: agent.id, issue_id: issue.id, actor: { agent_id: agent.id } });
      const [row] = await database.db.select().from(issues).where(eq(issues.id, issue.id));
      expect(row).toMatchObject({ checked_out_by_agent_id: agent.id, checkout_run_id: run.id });
      const told = await database.db.select().from(activity).where(eq(activity.entity_id, run.id));
      expect(told.find(({ action }) => action === 'run.started')).toMatchObject({ actor_id: agent.id });
    }
  });

  it('begin although the kind refuses one of them', async () => {
    const { company, agent } = await companyWithAgent();
    const other = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    const refused = await invoke(agent);
    const begun = await invoke(other);
    await database.db
      .update(issues)
      .set({ checked_out_by_agent_id: other.id })
      .where(eq(issues.id, issue.id));
    const claimed = await claimAtOnce(8);
    expect(claimed).toHaveLength(2);
    expect(claimed.flatMap((run) => run?.run_id ?? [])).toEqual([begun.id]);
    expect(await rowOf(refused.id)).toMatchObject({ status: 'cancelled' });
    expect(await rowOf(begun.id)).toMatchObject({ status: 'running' });
    const statuses = await database.db.select().from(agents).where(eq(agents.company_id, company.id));
    expect(new Map(statuses.map(({ id, status }) => [id, status]))).toEqual(
      new Map([
        [agent.id, 'idle'],
        [other.id, 'running'],
      ]),
    );
  });

  it('are one at a time where companies have a limit', async () => {
    const company = await createCompany(database.db);
    for (let n = 0; n < 3; n += 1) await invoke(await createAgent(database.db, company));
    await putSetting(database.db, 'company_max_concurrent_runs', 2);
    const counts: number[] = [];
    for (let n = 0; n < 3; n += 1) counts.push((await claimAtOnce(8)).length);
    expect(counts).toEqual([1, 1, 0]);
  });
});

describe('parallel claims', () => {
  it.each([
    ['one agent', 1, 40],
    ['ten agents', 10, 4],
  ])('of 40 runs of %s by two schedulers take each run exactly once', async (_, count, each) => {
    const company = await createCompany(database.db);
    const queued: string[] = [];
    for (let a = 0; a < count; a += 1) {
      const agent = await createAgent(database.db, company, { max_concurrent_runs: each });
      for (let n = 0; n < each; n += 1) queued.push((await invoke(agent)).id);
    }
    const taken: string[] = [];
    // A claim that lost the race enqueues a job again: the slot gets another try.
    const drain = async (scheduler: string, n: number) => {
      for (let left = 40; left > 0; left = await database.db.$count(heartbeat_runs, waiting)) {
        for (const run of await claimAtOnce(n % 4 === 0 ? 4 : 1, scheduler)) if (run) taken.push(run.run_id);
      }
    };
    await Promise.all(Array.from({ length: 20 }, async (_slot, n) => drain(`scheduler-${n % 2}`, n)));
    expect(taken.toSorted()).toEqual(queued.toSorted());
    expect(await claim()).toBeUndefined();
  });

  it('of an agent with room for one give one run, however many claim', async () => {
    const { agent } = await companyWithAgent();
    for (let n = 0; n < 5; n += 1) await invoke(agent);
    const claims = await Promise.all(Array.from({ length: 8 }, async () => claim()));
    expect(claims.filter((run) => run !== undefined)).toHaveLength(1);
  });
});
