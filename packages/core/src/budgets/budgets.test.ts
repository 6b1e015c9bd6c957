import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CreateBudgetPolicy } from '@acp/contract';
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
import { and, eq, sql } from 'drizzle-orm';
import {
  claimRun,
  createProject,
  dispatchAgent,
  dueWork,
  findAgent,
  finishRun,
  invokeAgent,
  pauseAgent,
  requestWakeups,
  resumeAgent,
  type RunResult,
  sweepLostRun,
  triggerIssue,
  updateAgent,
} from '../index.ts';
import {
  createBudgetPolicy,
  deleteBudgetPolicy,
  findBudgetIncident,
  findBudgetPolicy,
  isCompanyOverBudget,
  listBudgetIncidents,
  listCostEvents,
  reportCost,
  reserveCall,
  resolveBudgetIncident,
  rollOverBudgets,
  settleBudgets,
  summarizeCosts,
  sweepBudgets,
  updateBudgetPolicy,
} from './index.ts';

const { agents, budget_incidents, budget_windows, heartbeat_runs, outbox, wakeup_requests } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  // Claims and sweeps look at all companies.
  ({ database } = await cloneDatabase('budgets'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
  await database.db.execute(sql`delete from budget_policies`);
  await database.db.execute(sql`update agents set budget_paused = false`);
});

type Work<T> = (tx: Parameters<Parameters<typeof transaction>[1]>[0]) => Promise<T>;
const act = async <T>(work: Work<T>) => transaction(database, work);

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const other = await createAgent(database.db, company);
  const admin = actors.board(company, 'admin');
  const policy = async (values: Partial<CreateBudgetPolicy> = {}) =>
    act(async (tx) => {
      const { id } = await createBudgetPolicy(tx, admin, company.id, {
        scope_type: 'agent',
        scope_id: agent.id,
        window: 'day',
        limit_usd: 1,
        action: 'pause',
        ...values,
      });
      return (await findBudgetPolicy(tx, id))!;
    });
  const spend = async (cost_usd: number, more: { issue_id?: string; agent_id?: string } = {}) =>
    act(async (tx) =>
      reportCost(tx, admin, company.id, {
        agent_id: agent.id,
        provider: 'elsewhere',
        model: 'big',
        cost_usd,
        ...more,
      }),
    );
  const settle = async () => act(async (tx) => settleBudgets(tx, company.id));
  const open = async () => (await listBudgetIncidents(database.db, company.id, { status: 'open' })).items;
  const breach = async () => (await findBudgetIncident(database.db, (await open())[0]!.id))!;
  const statusOf = async (id = agent.id) =>
    (await database.db.select().from(agents).where(eq(agents.id, id)))[0]!.status;
  const invoke = async (id = agent.id) => act(async (tx) => invokeAgent(tx, admin, { id }));
  const resume = async () => act(async (tx) => resumeAgent(tx, admin, (await findAgent(tx, agent.id))!));
  return { company, agent, other, admin, policy, spend, settle, open, breach, statusOf, invoke, resume };
}

const exceeded = { kind: 'conflict', message: 'budget exceeded' };

describe('a cost of the past', () => {
  it('counts when it occurred: for the windows that it lies in, and not ahead of or long before now', async () => {
    const { company, admin, policy } = await setUp();
    const [day, lifetime] = [await policy(), await policy({ window: 'lifetime' })];
    const report = async (occurred_at: Date) =>
      act(async (tx) =>
        reportCost(tx, admin, company.id, {
          agent_id: day.scope_id,
          provider: 'p',
          model: 'm',
          cost_usd: 0.5,
          occurred_at,
        }),
      );
    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    const yesterday = ago(25);
    expect((await report(yesterday)).occurred_at).toEqual(yesterday);
    const spent = async (policy_id: string) =>
      (await database.db.select().from(budget_windows).where(eq(budget_windows.policy_id, policy_id))).map(
        ({ spent_usd }) => Number(spent_usd),
      );
    expect([await spent(day.id), await spent(lifetime.id)]).toEqual([[0], [0.5]]);
    for (const [at, message] of [
      [ago(-1), 'occurred_at is in the future'],
      [ago(91 * 24), 'occurred_at is more than 90 days ago'],
    ] as const)
      await expect(report(at)).rejects.toMatchObject({ kind: 'invalid', message });
  });
});

describe('a breach of a pause policy', () => {
  it('refuses new runs at once, pauses the scope’s agents, and nobody resumes them by hand', async () => {
    const { company, agent, other, admin, policy, spend, settle, statusOf, invoke, resume } = await setUp();
    await policy();
    await spend(1.25);
    await expect(invoke()).rejects.toMatchObject(exceeded);
    expect(await queuedJobs(database.db, 'settle-budgets', { company_id: company.id })).not.toEqual([]);
    await settle();
    expect([await statusOf(), await statusOf(other.id)]).toEqual(['paused', 'idle']);
    await expect(invoke()).rejects.toMatchObject(exceeded);
    await expect(resume()).rejects.toMatchObject(exceeded);
    const patched = act(async (tx) =>
      updateAgent(tx, admin, (await findAgent(tx, agent.id))!, { status: 'idle' }),
    );
    await expect(patched).rejects.toMatchObject(exceeded);
    expect((await invoke(other.id)).status).toBe('queued');
  });

  it('of the company holds all its agents; of a project the runs on its issues only', async () => {
    const { company, agent, other, admin, policy, spend, settle, statusOf, invoke } = await setUp();
    const project = await act(async (tx) => createProject(tx, admin, company.id, { name: 'P' }));
    const inside = await createIssue(database.db, company, {
      project_id: project.id,
      assignee_agent_id: agent.id,
    });
    await policy({ scope_type: 'project', scope_id: project.id });
    await spend(2, { issue_id: inside.id });
    await settle();
    expect(await statusOf()).toBe('idle');
    await expect(act(async (tx) => triggerIssue(tx, admin, inside))).rejects.toMatchObject(exceeded);
    expect((await invoke()).issue_id).toBeNull();
    await policy({ scope_type: 'company', scope_id: company.id });
    await settle();
    expect([await statusOf(), await statusOf(other.id)]).toEqual(['paused', 'paused']);
  });

  it('keeps a run that was queued before from being claimed, until it is waived', async () => {
    const { admin, policy, spend, breach, invoke, settle } = await setUp();
    await policy();
    const run = await invoke();
    await spend(1);
    const claim = async () => act(async (tx) => claimRun(tx, { claimed_by: 's', lease_sec: 30 }));
    expect(await claim()).toBeUndefined();
    expect(await queuedJobs(database.db, 'execute-run', { run_id: run.id })).toHaveLength(1);
    await act(async (tx) =>
      resolveBudgetIncident(tx, admin, (await findBudgetIncident(tx, (await breach()).id))!),
    );
    await settle();
    expect(await claim()).toMatchObject({ run_id: run.id, budgeted: true });
  });

  it('leaves wakeups waiting, and its end dispatches them', async () => {
    const { company, agent, admin, policy, spend, breach, settle, statusOf } = await setUp();
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    await policy();
    await spend(1);
    await settle();
    const { id: agent_id } = agent;
    await act(async (tx) =>
      requestWakeups(tx, admin, [
        { company_id: company.id, agent_id, issue_id: issue.id, reason: 'comment' },
      ]),
    );
    expect(await act(async (tx) => dispatchAgent(tx, agent_id))).toEqual([]);
    const before = await queuedJobs(database.db, 'dispatch-agent', { agent_id });
    const incident = await breach();
    await act(async (tx) => resolveBudgetIncident(tx, admin, incident, { limit_usd: 5 }));
    await settle();
    expect(await statusOf()).toBe('idle');
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id })).toHaveLength(before.length + 1);
    expect(await act(async (tx) => dispatchAgent(tx, agent_id))).toHaveLength(1);
  });

  it('does not resume whom somebody paused by hand', async () => {
    const { agent, admin, policy, spend, settle, statusOf } = await setUp();
    const made = await policy();
    await spend(1);
    await settle();
    await act(async (tx) => pauseAgent(tx, admin, (await findAgent(tx, agent.id))!, 'on holiday'));
    await act(async (tx) => deleteBudgetPolicy(tx, admin, made));
    await settle();
    expect(await statusOf()).toBe('paused');
  });

  it('ends with its window: the incident is resolved, the agent resumed', async () => {
    const { policy, spend, settle, open, statusOf, invoke } = await setUp();
    const made = await policy();
    await spend(1);
    await settle();
    expect((await dueWork(database.db)).budget_windows).toBe(false);
    await database.db.execute(
      sql`update budget_incidents set window_start = window_start - interval '1 day'`,
    );
    await database.db.execute(sql`update budget_windows set window_start = window_start - interval '1 day'`);
    await database.db.execute(sql`update cost_events set occurred_at = occurred_at - interval '1 day'`);
    expect((await dueWork(database.db)).budget_windows).toBe(true);
    expect(await act(rollOverBudgets)).toBe(1);
    await settle();
    expect([await open(), await statusOf()]).toEqual([[], 'idle']);
    expect((await invoke()).status).toBe('queued');
    await spend(0.5);
    expect(await database.db.$count(budget_windows, eq(budget_windows.policy_id, made.id))).toBe(2);
  });

  it('stops what the service itself does for the company only in its window', async () => {
    const { company, policy, spend } = await setUp();
    await policy({ scope_type: 'company', scope_id: company.id });
    const over = async () => isCompanyOverBudget(database.db, company.id);
    expect(await over()).toBe(false);
    await spend(1);
    expect(await over()).toBe(true);
    await database.db.execute(
      sql`update budget_incidents set window_start = window_start - interval '1 day'`,
    );
    expect(await over()).toBe(false);
  });

  it('that a crash left without its effects is caught by the sweep, and so is a forgotten pause', async () => {
    const { company, policy, spend, settle, open, statusOf } = await setUp();
    await policy();
    await spend(1);
    await database.db.delete(budget_incidents);
    await act(sweepBudgets);
    expect(await open()).toMatchObject([{ kind: 'breach' }]);
    expect(await act(sweepBudgets)).toBe(1);
    await settle();
    expect([await statusOf(), await act(sweepBudgets)]).toEqual(['paused', 0]);
    await database.db.execute(sql`delete from budget_policies`);
    expect(await act(sweepBudgets)).toBe(1);
    expect(await queuedJobs(database.db, 'settle-budgets', { company_id: company.id })).not.toEqual([]);
    await settle();
    expect(await statusOf()).toBe('idle');
  });
});

describe('incidents', () => {
  it('are one warning, then one breach in its place, each with event and notification', async () => {
    const { company, policy, spend, open } = await setUp();
    await policy({ action: 'notify', warn_percent: 50 });
    await spend(0.4);
    expect(await open()).toEqual([]);
    await Promise.all(Array.from({ length: 5 }, async () => spend(0.05)));
    expect(await open()).toMatchObject([{ kind: 'warning', limit_usd: 1 }]);
    await Promise.all(Array.from({ length: 5 }, async () => spend(0.5)));
    expect((await open()).map(({ kind }) => kind)).toEqual(['breach']);
    const of = eq(outbox.company_id, company.id);
    const sent = await database.db.select().from(outbox).where(of).orderBy(outbox.id);
    expect(sent.map(({ type }) => type).filter((type) => /budget|notif/.test(type))).toEqual([
      'budget_incident',
      'notification',
      'budget_breached',
      'notification',
      'budget_incident',
    ]);
  });

  it('resolved twice at once are resolved once; a waiver lasts for the window, a raise until the new limit', async () => {
    const { admin, policy, spend, breach, open } = await setUp();
    await policy();
    await spend(1);
    const incident = await breach();
    const both = await Promise.allSettled(
      [1, 2].map(async () =>
        act(async (tx) => resolveBudgetIncident(tx, admin, incident, { note: 'go on' })),
      ),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await spend(3);
    expect(await open()).toEqual([]);
    const made = await policy({ limit_usd: 2 });
    const second = await breach();
    const lower = act(async (tx) => resolveBudgetIncident(tx, admin, second, { limit_usd: 1 }));
    await expect(lower).rejects.toMatchObject({ kind: 'invalid' });
    await act(async (tx) => resolveBudgetIncident(tx, admin, second, { limit_usd: 3 }));
    expect(await open()).toMatchObject([{ policy_id: made.id, kind: 'breach', limit_usd: 3, spent_usd: 4 }]);
    await act(async (tx) => updateBudgetPolicy(tx, admin, made, { limit_usd: 10 }));
    expect(await open()).toEqual([]);
  });

  it.each(['breach', 'policy'] as const)(
    'end with the limit that they are about, raised from the %s',
    async (from) => {
      const { admin, policy, spend, breach, open } = await setUp();
      const made = await policy();
      await spend(0.9);
      expect(await open()).toMatchObject([{ kind: 'warning' }]);
      await spend(0.4);
      expect(await open()).toMatchObject([{ kind: 'breach' }]);
      const raise = async (limit_usd: number) =>
        from === 'breach'
          ? act(async (tx) => resolveBudgetIncident(tx, admin, await breach(), { limit_usd }))
          : act(async (tx) => updateBudgetPolicy(tx, admin, made, { limit_usd }));
      await raise(1.5);
      expect(await open()).toMatchObject([{ kind: 'warning', spent_usd: 1.3, limit_usd: 1.5 }]);
      await raise(10);
      expect(await open()).toEqual([]);
    },
  );

  it('that are open although another one took their place or the money came back are found by the sweep', async () => {
    const { policy, spend, open } = await setUp();
    const made = await policy();
    await spend(1);
    await database.db.execute(sql`
      insert into budget_incidents (company_id, policy_id, kind, spent_usd, limit_usd, window_start)
      select company_id, policy_id, 'warning', 0.8, limit_usd, window_start from budget_incidents where policy_id = ${made.id}`);
    expect(await open()).toHaveLength(2);
    await act(sweepBudgets);
    expect(await open()).toMatchObject([{ kind: 'breach' }]);
  });

  it('of spending before the policy was made are opened with it', async () => {
    const { company, policy, spend, open } = await setUp();
    await spend(1.5);
    await policy({ scope_type: 'company', scope_id: company.id, window: 'lifetime' });
    await nextInstant();
    await policy({ window: 'week', limit_usd: 0 });
    expect(await open()).toMatchObject([{ kind: 'breach', limit_usd: 0 }, { spent_usd: 1.5 }]);
  });

  it('need a scope of the company', async () => {
    const { company, policy } = await setUp();
    const foreign = await createAgent(database.db, await createCompany(database.db));
    await expect(policy({ scope_id: foreign.id })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(policy({ scope_type: 'project', scope_id: company.id })).rejects.toMatchObject({
      kind: 'invalid',
    });
  });
});

async function claimed(set: Awaited<ReturnType<typeof setUp>>) {
  await set.invoke();
  return (await act(async (tx) => claimRun(tx, { claimed_by: 's', lease_sec: 30 })))!;
}
const windowOf = async ({ id }: { id: string }) =>
  (await database.db.select().from(budget_windows).where(eq(budget_windows.policy_id, id)))[0]!;
const reserve = async (run: { run_id: string; company_id: string; fence: number }, spent_usd = '0') =>
  reserveCall(database.db, { ...run, estimate_usd: '0.9', spent_usd });

describe('the end of a run', () => {
  const usage = {
    provider: 'family_compat',
    model: 'small',
    input_tokens: 10,
    output_tokens: 10,
    cached_tokens: 0,
    usage_missing: false,
    price_estimated: false,
    cost_usd: '0.75000000',
  };
  const succeeded: RunResult = { failure: null, text: null, usage, changed: true };

  it('charges what was not settled yet, also to a policy that was made meanwhile, and opens incidents', async () => {
    const set = await setUp();
    const first = await set.policy();
    const run = await claimed(set);
    await reserve(run);
    await reserve(run, '0.5');
    const later = await set.policy({ limit_usd: 0.7 });
    await act(async (tx) => finishRun(tx, run, succeeded));
    for (const made of [first, later])
      expect(await windowOf(made)).toMatchObject({ spent_usd: '0.75000000', reserved_usd: '0.00000000' });
    expect(await set.open()).toMatchObject([{ kind: 'breach', policy_id: later.id, spent_usd: 0.75 }]);
  });

  it('that is lost gives back what was reserved and keeps what was settled', async () => {
    const set = await setUp();
    const made = await set.policy();
    const run = await claimed(set);
    await reserve(run);
    await reserve(run, '0.25');
    await database.db.execute(sql`update heartbeat_runs set lease_expires_at = now() - interval '1 second'`);
    await Promise.all([1, 2].map(async () => act(async (tx) => sweepLostRun(tx))));
    expect(await windowOf(made)).toMatchObject({ spent_usd: '0.25000000', reserved_usd: '0.00000000' });
    expect((await reserve(run)).outcome).toBe('lost');
  });

  it('that found no money returns its wakeups, and does not count as a run in circles', async () => {
    const set = await setUp();
    const issue = await createIssue(database.db, set.company, { assignee_agent_id: set.agent.id });
    await act(async (tx) =>
      requestWakeups(tx, set.admin, [
        { company_id: set.company.id, agent_id: set.agent.id, issue_id: issue.id, reason: 'comment' },
      ]),
    );
    const run = await claimed(set);
    const failure = { category: 'budget', message: 'budget exceeded' };
    const broke = { failure, text: null, usage: null, changed: false };
    await act(async (tx) => finishRun(tx, run, broke));
    const waiting = and(eq(wakeup_requests.agent_id, set.agent.id), eq(wakeup_requests.status, 'pending'));
    expect(await database.db.$count(wakeup_requests, waiting)).toBe(1);
    const [row] = await database.db.select().from(schema.issues).where(eq(schema.issues.id, issue.id));
    expect(row!.stalled_runs).toBe(0);
  });

  it('without any policy costs no statement more; with one it costs one more', async () => {
    const set = await setUp();
    const cost = async () => {
      const run = await claimed(set);
      const before = database.statements();
      await act(async (tx) => finishRun(tx, run, succeeded));
      return database.statements() - before;
    };
    const without = await cost();
    await set.policy({ limit_usd: 100 });
    expect(await cost()).toBe(without + 1);
    expect(await database.db.$count(heartbeat_runs, eq(heartbeat_runs.status, 'succeeded'))).toBe(2);
  });
});

describe('costs', () => {
  it('are summed by agent, project, model and day', async () => {
    const { company, agent, other, admin, spend } = await setUp();
    const project = await act(async (tx) => createProject(tx, admin, company.id, { name: 'Shed' }));
    const issue = await createIssue(database.db, company, { project_id: project.id });
    await spend(0.1, { issue_id: issue.id });
    await spend(0.2);
    await spend(0.4, { agent_id: other.id });
    const by = async (group_by?: 'agent' | 'project' | 'model' | 'day') =>
      summarizeCosts(database.db, company.id, group_by ? { group_by } : {});
    expect(await by()).toMatchObject({
      total_usd: 0.7,
      groups: [
        { key: other.id, label: other.name, cost_usd: 0.4, runs: 0 },
        { key: agent.id, cost_usd: 0.3 },
      ],
    });
    expect((await by('project')).groups).toMatchObject([
      { key: null, label: null, cost_usd: 0.6 },
      { key: project.id, label: 'Shed', cost_usd: 0.1 },
    ]);
    expect((await by('model')).groups).toMatchObject([{ key: 'big', label: 'big', cost_usd: 0.7 }]);
    const [day] = (await by('day')).groups;
    expect(day!.key).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    const none = await summarizeCosts(database.db, company.id, { to: day!.key! });
    expect(none).toEqual({ total_usd: 0, groups: [] });
    await expect(summarizeCosts(database.db, company.id, { from: 'soon' })).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  it('are reported by an agent in its own name only', async () => {
    const { company, agent, other } = await setUp();
    const report = async (agent_id?: string) =>
      act(async (tx) =>
        reportCost(tx, actors.agent(agent), company.id, {
          provider: 'x',
          model: 'y',
          cost_usd: 0.1,
          ...(agent_id === undefined ? {} : { agent_id }),
        }),
      );
    expect(await report()).toMatchObject({ agent_id: agent.id, cost_usd: 0.1 });
    await expect(report(other.id)).rejects.toMatchObject({ kind: 'forbidden' });
    const page = await listCostEvents(database.db, company.id, { limit: 1 });
    expect(page).toMatchObject({ items: [{ agent_id: agent.id }], next_cursor: null });
  });
});
