import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CreateBudgetPolicy, UpdateBudgetPolicy } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import { actors, cloneDatabase, createAgent, createCompany, nextInstant } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createProject } from '../index.ts';
import {
  budgetUsage,
  chargeCost,
  createBudgetPolicy,
  findBudgetIncident,
  findBudgetPolicy,
  listBudgetIncidents,
  reportCost,
  reserveCall,
  resolveBudgetIncident,
  spending,
  updateBudgetPolicy,
} from './index.ts';

const { budget_windows, cost_events, heartbeat_runs } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('budget_usage'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

let company: Awaited<ReturnType<typeof createCompany>>;
let agent: Awaited<ReturnType<typeof createAgent>>;
beforeEach(async () => {
  company = await createCompany(database.db);
  agent = await createAgent(database.db, company);
});

const admin = () => actors.board(company, 'admin');
const act = async <T>(work: (tx: Parameters<typeof budgetUsage>[0]) => Promise<T>) =>
  transaction(database, work);
const policy = async (values: Partial<CreateBudgetPolicy> = {}) =>
  act(async (tx) =>
    createBudgetPolicy(tx, admin(), company.id, {
      scope_type: 'agent',
      scope_id: agent.id,
      window: 'month',
      limit_usd: 2,
      ...values,
    }),
  );
const change = async (id: string, values: UpdateBudgetPolicy) =>
  act(async (tx) => updateBudgetPolicy(tx, admin(), (await findBudgetPolicy(tx, id))!, values));
const spend = async (cost_usd: number) =>
  act(async (tx) =>
    reportCost(tx, admin(), company.id, { agent_id: agent.id, provider: 'x', model: 'y', cost_usd }),
  );
const usageOf = async (id: string) =>
  (await budgetUsage(database.db, company.id, { policy_ids: [id] })).at(0);

async function runningRun() {
  const { id: agent_id, company_id } = agent;
  const [run] = await database.db
    .insert(heartbeat_runs)
    .values({
      company_id,
      agent_id,
      status: 'running',
      fence: 1,
      wake_reason: 'manual',
      adapter_type: 'llm',
    })
    .returning();
  return { run_id: run!.id, company_id, fence: 1 };
}

describe('what a policy has used up', () => {
  it('is what was settled and reserved in its present window, by the name of its scope', async () => {
    const project = await act(async (tx) => createProject(tx, admin(), company.id, { name: 'Shed' }));
    const own = await policy();
    await nextInstant();
    const whole = await policy({ scope_type: 'company', scope_id: company.id, window: 'lifetime' });
    await nextInstant();
    const shed = await policy({ scope_type: 'project', scope_id: project.id, window: 'week' });
    await spend(0.5);
    await reserveCall(database.db, { ...(await runningRun()), estimate_usd: '0.25', spent_usd: '0.1' });
    const before = database.statements();
    const ids = [own.id, whole.id, shed.id];
    const usage = await budgetUsage(database.db, company.id, { policy_ids: ids });
    expect(database.statements() - before).toBe(1);
    expect(usage).toMatchObject([
      { policy: { id: shed.id }, scope_name: 'Shed', spent_usd: 0, reserved_usd: 0 },
      {
        policy: { id: whole.id },
        scope_name: company.name,
        spent_usd: 0.6,
        reserved_usd: 0.25,
        window_start: new Date(0),
        window_end: null,
      },
      { policy: { id: own.id }, scope_name: agent.name, spent_usd: 0.6, reserved_usd: 0.25, waived: false },
    ]);
    const [{ window_start: from, window_end: to } = usage[0]!] = usage;
    expect([from.getUTCDay(), to!.getTime() - from.getTime()]).toEqual([1, 7 * 86_400_000]);
    const bounding = await budgetUsage(database.db, company.id, { scope_ids: [agent.id] });
    expect(bounding.map((each) => each.policy.id)).toEqual([own.id]);
  });

  it('begins again with each window, and says whether a human let it go on', async () => {
    const { id } = await policy({ limit_usd: 1 });
    await spend(1.5);
    const [open] = (await listBudgetIncidents(database.db, company.id, { status: 'open' })).items;
    await act(async (tx) =>
      resolveBudgetIncident(tx, admin(), (await findBudgetIncident(tx, open!.id))!, { note: 'go on' }),
    );
    expect(await usageOf(id)).toMatchObject({ spent_usd: 1.5, waived: true });
    const [resolved] = (await listBudgetIncidents(database.db, company.id, { status: 'resolved' })).items;
    expect(resolved).toMatchObject({ id: open!.id, waived: true, note: 'go on' });
    const last = sql`window_start - interval '40 days'`;
    await database.db
      .update(budget_windows)
      .set({ window_start: last })
      .where(eq(budget_windows.policy_id, id));
    await database.db.execute(
      sql`update budget_incidents set window_start = ${last} where policy_id = ${id}`,
    );
    expect(await usageOf(id)).toMatchObject({ spent_usd: 0, waived: false });
  });

  it('of another company is not told', async () => {
    const { id } = await policy();
    const elsewhere = await createCompany(database.db);
    expect(await budgetUsage(database.db, elsewhere.id, { policy_ids: [id] })).toEqual([]);
    expect(await budgetUsage(database.db, company.id, { policy_ids: [] })).toEqual([]);
  });
});

describe('a policy that is changed', () => {
  it('counts what was spent while it was switched off, or looked at another window', async () => {
    const { id } = await policy();
    await spend(0.5);
    await change(id, { enabled: false });
    await spend(0.25);
    await change(id, { enabled: true });
    expect(await usageOf(id)).toMatchObject({ spent_usd: 0.75 });
    await change(id, { window: 'day' });
    await spend(1);
    await change(id, { window: 'month' });
    expect(await usageOf(id)).toMatchObject({ spent_usd: 1.75 });
  });

  it('counts a run that goes on meanwhile once and in full', async () => {
    const { id } = await policy();
    const run = await runningRun();
    await reserveCall(database.db, { ...run, estimate_usd: '0.5', spent_usd: '0.1' });
    await change(id, { window: 'day' });
    await change(id, { window: 'month' });
    await reserveCall(database.db, { ...run, estimate_usd: '0.5', spent_usd: '0.3' });
    expect(await usageOf(id)).toMatchObject({ spent_usd: 0.3, reserved_usd: 0.5 });
    await act(async (tx) => {
      const { run_id, company_id } = run;
      const tokens = { input_tokens: 1, output_tokens: 1, cached_tokens: 0 };
      const spender = { company_id, agent_id: agent.id };
      await tx
        .insert(cost_events)
        .values({ ...spender, run_id, provider: 'x', model: 'y', ...tokens, cost_usd: '0.4' });
      await chargeCost(tx, { ...spender, project_id: null }, '0.4', run_id);
    });
    expect(await usageOf(id)).toMatchObject({ spent_usd: 0.4, reserved_usd: 0 });
  });
});

it('the spending of an agent and of a company is that of today and of this month', async () => {
  await spend(0.5);
  await database.db.insert(cost_events).values({
    company_id: company.id,
    agent_id: agent.id,
    provider: 'x',
    model: 'y',
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cost_usd: '0.25',
    occurred_at: sql`date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' - interval '1 s'`,
  });
  for (const scope of [{ agent_id: agent.id }, { company_id: company.id }]) {
    expect(await spending(database.db, scope)).toEqual({ today_usd: 0.5, month_usd: 0.5 });
  }
  expect(await spending(database.db, { agent_id: company.id })).toEqual({ today_usd: 0, month_usd: 0 });
});
