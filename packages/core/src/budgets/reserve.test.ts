import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateBudgetPolicy } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createProject } from '../index.ts';
import {
  chargeCost,
  createBudgetPolicy,
  deleteBudgetPolicy,
  findBudgetIncident,
  findBudgetPolicy,
  listBudgetIncidents,
  reportCost,
  reportSpending,
  reserveCall,
  resolveBudgetIncident,
  settleBudgets,
  sweepBudgets,
  updateBudgetPolicy,
} from './index.ts';

const { budget_incidents, budget_reservations, budget_windows, heartbeat_runs } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const admin = actors.board(company, 'admin');
  const policy = async (values: Partial<CreateBudgetPolicy> = {}) =>
    transaction(database, async (tx) =>
      createBudgetPolicy(tx, admin, company.id, {
        scope_type: 'company',
        window: 'month',
        limit_usd: 1,
        action: 'pause',
        ...values,
      }),
    );
  const runningOn = async (issue_id: string | null = null) => {
    const [run] = await database.db
      .insert(heartbeat_runs)
      .values({
        company_id: company.id,
        agent_id: agent.id,
        issue_id,
        status: 'running',
        fence: 1,
        wake_reason: 'manual',
        adapter_type: 'llm',
      })
      .returning();
    return run!;
  };
  const spend = async (cost_usd: number) =>
    transaction(database, async (tx) =>
      reportCost(tx, admin, company.id, {
        agent_id: agent.id,
        provider: 'elsewhere',
        model: 'any',
        cost_usd,
      }),
    );
  return { company, agent, admin, policy, runningOn, spend };
}

const call = (run: { id: string; company_id: string }, estimate: string | null, spent_usd = '0') => ({
  run_id: run.id,
  company_id: run.company_id,
  fence: 1,
  estimate_usd: estimate,
  spent_usd,
});
const reserve = async (run: { id: string; company_id: string }, estimate: string | null, spent = '0') =>
  (await reserveCall(database.db, call(run, estimate, spent))).outcome;
/** Ends a run. */
const charge = async (run: { id: string; company_id: string; agent_id: string }, cost: string) => {
  const { company_id, agent_id } = run;
  await transaction(database, async (tx) =>
    chargeCost(tx, { company_id, agent_id, project_id: null }, cost, run.id),
  );
};
/** Spent and reserved amounts in a policy's window. */
async function windowOf({ id }: { id: string }) {
  const [row] = await database.db.select().from(budget_windows).where(eq(budget_windows.policy_id, id));
  return { spent: Number(row?.spent_usd), reserved: Number(row?.reserved_usd) };
}

describe('a reservation', () => {
  it('by twenty runs at once never takes the cap further than one reservation', async () => {
    const { policy, runningOn } = await setUp();
    const made = await policy({ limit_usd: 1 });
    const runs = await Promise.all(Array.from({ length: 20 }, async () => runningOn()));
    const outcomes = await Promise.all(runs.map(async (run) => reserve(run, '0.15')));
    // Seven times 0.15 is 1.05: the seventh began below the cap.
    expect(outcomes.filter((outcome) => outcome === 'granted')).toHaveLength(7);
    expect(outcomes.filter((outcome) => outcome === 'waiting')).toHaveLength(13);
    expect(await windowOf(made)).toEqual({ spent: 0, reserved: 1.05 });
  });

  it('with settling in between by twenty runs at once ends within cap plus one reservation', async () => {
    const { policy, runningOn } = await setUp();
    const made = await policy({ limit_usd: 0.5 });
    const runs = await Promise.all(Array.from({ length: 20 }, async () => runningOn()));
    const granted = await Promise.all(
      runs.map(async (run) => {
        let calls = 0;
        while (calls < 10 && (await reserve(run, '0.03', (calls * 0.03).toFixed(8))) === 'granted')
          calls += 1;
        await charge(run, (calls * 0.03).toFixed(8));
        return calls;
      }),
    );
    const spent = granted.reduce((total, calls) => total + calls, 0) * 0.03;
    const { spent: settled, reserved } = await windowOf(made);
    expect(settled).toBeCloseTo(spent, 8);
    expect(settled).toBeLessThan(0.5 + 0.03);
    expect(reserved).toBe(0);
  });

  it('takes from all policies of company, project and agent, or from none, in one statement', async () => {
    const { company, agent, admin, policy, runningOn } = await setUp();
    const project = await transaction(database, async (tx) =>
      createProject(tx, admin, company.id, { name: 'P' }),
    );
    const issue = await createIssue(database.db, company, { project_id: project.id });
    const whole = await policy();
    const part = await policy({ scope_type: 'project', scope_id: project.id });
    const own = await policy({ scope_type: 'agent', scope_id: agent.id, limit_usd: 0.1 });
    const run = await runningOn(issue.id);
    const before = database.statements();
    expect(await reserve(run, '0.2')).toBe('granted');
    expect(database.statements() - before).toBe(1);
    const reserved = { spent: 0, reserved: 0.2 };
    expect([await windowOf(whole), await windowOf(part), await windowOf(own)]).toEqual([
      reserved,
      reserved,
      reserved,
    ]);
    expect(await reserve(await runningOn(), '0.2')).toBe('waiting');
    expect([await windowOf(whole), await windowOf(part)]).toEqual([reserved, reserved]);
  });

  it('of the next call settles the ones before; sent twice it counts once', async () => {
    const { policy, runningOn } = await setUp();
    const made = await policy();
    const run = await runningOn();
    await reserve(run, '0.2');
    await reserve(run, '0.3', '0.05');
    await reserve(run, '0.3', '0.05');
    expect(await windowOf(made)).toEqual({ spent: 0.05, reserved: 0.3 });
    await charge(run, '0.25');
    expect(await windowOf(made)).toEqual({ spent: 0.25, reserved: 0 });
    expect(await database.db.$count(budget_reservations, eq(budget_reservations.run_id, run.id))).toBe(0);
  });

  it('is refused where the limit is spent, and opens the breach once', async () => {
    const { company, policy, runningOn } = await setUp();
    await policy({ limit_usd: 0.1, warn_percent: 50 });
    const run = await runningOn();
    await reserve(run, '0.2');
    for (let n = 0; n < 2; n += 1) {
      const { outcome, due } = await reserveCall(database.db, call(run, '0.2', '0.12'));
      expect(outcome).toBe('exceeded');
      expect(due).toBe(n === 0);
      if (due) await transaction(database, async (tx) => reportSpending(tx, run.id));
    }
    const { items } = await listBudgetIncidents(database.db, company.id, { status: 'open' });
    expect(items).toMatchObject([{ kind: 'breach', spent_usd: 0.12, limit_usd: 0.1 }]);
  });

  it('goes on beyond the limit of a policy that only notifies, and of a window that was waived', async () => {
    const { company, admin, policy, runningOn, spend } = await setUp();
    await policy({ limit_usd: 0.1, action: 'notify' });
    await spend(0.2);
    expect(await reserve(await runningOn(), '0.2')).toBe('granted');
    await policy({ limit_usd: 0.15 });
    const run = await runningOn();
    expect(await reserve(run, '0.2')).toBe('exceeded');
    const open = await database.db
      .select()
      .from(budget_incidents)
      .where(eq(budget_incidents.company_id, company.id));
    const breach = open.find(({ limit_usd }) => Number(limit_usd) === 0.15)!;
    await transaction(database, async (tx) => resolveBudgetIncident(tx, admin, breach));
    expect(await reserve(run, '0.2')).toBe('granted');
  });

  it('without metering is 1 USD for the first run, then the median of the agent’s last 20', async () => {
    const { agent, policy, runningOn } = await setUp();
    const made = await policy({ limit_usd: 100 });
    const first = await runningOn();
    await reserve(first, null);
    expect(await windowOf(made)).toMatchObject({ reserved: 1 });
    await database.db
      .execute(sql`insert into heartbeat_runs (company_id, agent_id, status, wake_reason, adapter_type, cost_usd, created_at)
      select ${first.company_id}, ${agent.id}, 'succeeded', 'manual', 'docker', case when n <= 20 then n * 0.1 else 50 end,
        now() - make_interval(secs => n) from generate_series(1, 30) n`);
    await reserve(first, null);
    expect(await windowOf(made)).toMatchObject({ reserved: 1 });
  });

  it('meets policies that are changed, waived and deleted at the same time in no deadlock', async () => {
    const { company, agent, admin, policy, runningOn } = await setUp();
    const runs = await Promise.all(Array.from({ length: 6 }, async () => runningOn()));
    const act = async (work: (tx: Parameters<typeof settleBudgets>[0]) => Promise<unknown>) =>
      transaction(database, work);
    const spender = async (run: (typeof runs)[number]) => {
      for (let n = 1; n <= 12; n += 1) {
        const { due } = await reserveCall(database.db, call(run, '0.02', (n * 0.01).toFixed(8)));
        if (due) await act(async (tx) => reportSpending(tx, run.id));
      }
      await charge(run, '0.2');
    };
    const meddler = async (n: number) => {
      const scope = n % 2 === 0 ? {} : { scope_type: 'agent' as const, scope_id: agent.id };
      for (let round = 0; round < 6; round += 1) {
        const { id } = await policy({ ...scope, limit_usd: 0.1 });
        const row = (await findBudgetPolicy(database.db, id))!;
        const open = await listBudgetIncidents(database.db, company.id, { status: 'open' });
        const incident = open.items.find(({ policy_id }) => policy_id === id);
        const opened = incident && (await findBudgetIncident(database.db, incident.id));
        // A breach may have taken the place of the warning.
        if (opened)
          await act(async (tx) => resolveBudgetIncident(tx, admin, opened)).catch((error: unknown) => {
            if (!String(error).includes('incident is already resolved')) throw error;
          });
        await act(async (tx) => updateBudgetPolicy(tx, admin, row, { limit_usd: 0.05 }));
        await act(async (tx) => settleBudgets(tx, company.id));
        await act(async (tx) => sweepBudgets(tx));
        await act(async (tx) => deleteBudgetPolicy(tx, admin, row));
      }
    };
    await Promise.all([...runs.map(spender), ...[0, 1, 2].map(meddler)]);
    const left = await database.db
      .select()
      .from(budget_reservations)
      .where(eq(budget_reservations.run_id, runs[0]!.id));
    expect(left).toEqual([]);
  });

  it('of a run that is not ours any more leaves nothing behind', async () => {
    const { policy, runningOn } = await setUp();
    const made = await policy();
    const run = await runningOn();
    await database.db.update(heartbeat_runs).set({ fence: 2 }).where(eq(heartbeat_runs.id, run.id));
    expect(await reserve(run, '0.2')).toBe('lost');
    expect(await windowOf(made)).toEqual({ spent: 0, reserved: 0 });
  });

  it('in a new window begins with what was spent in it before, by whatever ways at once', async () => {
    const { policy, runningOn, spend } = await setUp();
    const made = await policy({ limit_usd: 5 });
    await spend(1);
    await database.db.delete(budget_windows).where(eq(budget_windows.policy_id, made.id));
    const runs = await Promise.all(Array.from({ length: 4 }, async () => runningOn()));
    await Promise.all([
      ...runs.map(async (run) => reserve(run, '0.1')),
      ...Array.from({ length: 4 }, async () => spend(0.25)),
    ]);
    expect(await windowOf(made)).toEqual({ spent: 2, reserved: 0.4 });
  });
});

it('whatever sums are reported, the runs of the company go on ending', async () => {
  const { company, policy, runningOn, spend } = await setUp();
  await policy({ action: 'notify', window: 'lifetime' });
  const run = await runningOn();
  for (let time = 1; time <= 11; time += 1) await spend(1_000_000_000);
  await charge(run, '1');
  const [incident] = (await listBudgetIncidents(database.db, company.id)).items;
  expect(incident).toMatchObject({ kind: 'breach', spent_usd: 1_000_000_000 });
  await policy({ action: 'notify', window: 'month' });
  const [latest] = (await listBudgetIncidents(database.db, company.id)).items;
  expect(latest).toMatchObject({ kind: 'breach', spent_usd: 11_000_000_000 });
});
