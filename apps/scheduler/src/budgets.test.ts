/** Budgets and approvals in the whole engine: two schedulers, a model that counts, and the jobs between them. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  approve,
  createApproval,
  createBudgetPolicy,
  findAgent,
  findApproval,
  findBudgetIncident,
  findRun,
  invokeAgent,
  listBudgetIncidents,
  requestWakeups,
  resolveBudgetIncident,
} from '@acp/core';
import { schema, transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createMembership,
  createUser,
  startFakeModel,
  testLogger,
  waitFor,
} from '@acp/testkit';
import type { FakeModel, TestDatabase } from '@acp/testkit';
import { startScheduler } from './main.ts';
import type { RunningScheduler } from './main.ts';

let db: TestDatabase;
let model: FakeModel;
const running: RunningScheduler[] = [];

beforeAll(async () => {
  db = await cloneDatabase('engine_budgets');
  void db.notifier;
  model = await startFakeModel();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(async (scheduler) => scheduler.stop()));
});
afterAll(async () => model.close());

async function start(): Promise<void> {
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_API_KEY: 'a-key',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
  });
  running.push(await startScheduler({ config, logger: testLogger() }));
}

async function scene(limit_usd: number | null) {
  const tx = db.database.db;
  const company = await createCompany(tx);
  const user = await createUser(tx);
  await createMembership(tx, company, user, 'admin');
  const human = actors.user(user, { [company.id]: 'admin' });
  const agent = await createAgent(tx, company, { name: 'Ada' });
  const set = { company, human, agent };
  if (limit_usd !== null) await cap(set, limit_usd);
  return set;
}
type Scene = Awaited<ReturnType<typeof scene>>;

const cap = async ({ company, human }: Pick<Scene, 'company' | 'human'>, limit_usd: number) =>
  transaction(db.database, async (tx) =>
    createBudgetPolicy(tx, human, company.id, {
      scope_type: 'company',
      window: 'lifetime',
      limit_usd,
      action: 'pause',
    }),
  );
const invoke = async ({ human, agent }: Scene) =>
  transaction(db.database, async (tx) => invokeAgent(tx, human, agent));
const ended = async (id: string) =>
  waitFor(async () => {
    const run = (await findRun(db.database.db, id))!;
    return ['succeeded', 'failed', 'cancelled'].includes(run.status) && run;
  });
const statusIs = async ({ agent }: Scene, status: string) =>
  waitFor(async () => (await findAgent(db.database.db, agent.id))?.status === status);
/** 1,000 output tokens at the default price: 1.5 cents per call. */
const dear = { input_tokens: 0, output_tokens: 1000, cached_tokens: 0 };

describe('a budget', () => {
  it.each([
    ['read', '/list-issues'],
    // Its wakeup has been answered by then.
    ['changed something', '/priority high'],
  ])('ends a run that %s at the cap, pauses the agent, and continues once raised', async (_, verb) => {
    await start();
    await start();
    const set = await scene(0.02);
    const { company, human, agent } = set;
    const issue = await createIssue(db.database.db, company, { assignee_agent_id: agent.id });
    let calls = 0;
    model.setScript(() => {
      calls += 1;
      return { text: `${verb}\n/list-issues`, usage: dear };
    });
    await transaction(db.database, async (tx) =>
      requestWakeups(tx, human, [
        { company_id: company.id, agent_id: agent.id, issue_id: issue.id, reason: 'comment' },
      ]),
    );
    const first = await waitFor(async () => {
      const runs = await db.database.db.select().from(schema.heartbeat_runs);
      return runs.find(({ agent_id }) => agent_id === agent.id);
    });
    expect(await ended(first.id)).toMatchObject({
      status: 'failed',
      error: 'budget exceeded',
      error_category: 'budget',
      cost_usd: '0.03000000',
    });
    expect(calls).toBe(2);
    await statusIs(set, 'paused');
    await expect(invoke(set)).rejects.toMatchObject({ kind: 'conflict', message: 'budget exceeded' });
    model.setScript(() => ({ text: '/status done', usage: dear }));
    const [breach] = (await listBudgetIncidents(db.database.db, company.id, { status: 'open' })).items;
    await transaction(db.database, async (tx) =>
      resolveBudgetIncident(tx, human, (await findBudgetIncident(tx, breach!.id))!, { limit_usd: 1 }),
    );
    await waitFor(async () => {
      const runs = await db.database.db.select().from(schema.heartbeat_runs);
      return runs.some((run) => run.issue_id === issue.id && run.status === 'succeeded');
    });
  });

  it('made while a run is under way stops it before its next call', async () => {
    await start();
    const set = await scene(null);
    model.setScript(async () => {
      await cap(set, 0.01);
      return { text: '/list-issues', usage: dear };
    });
    const { id } = await invoke(set);
    expect(await ended(id)).toMatchObject({ status: 'failed', error: 'budget exceeded' });
  });

  it.each([
    ['never stops', { chunks: Array.from({ length: 3000 }, () => 'word '.repeat(20)), usage: null }],
    ['reports what cannot be', { text: 'ok', usage: { input_tokens: 1e9, output_tokens: 2e7 } }],
  ])('is overshot by no more than one reservation where the endpoint %s', async (_, reply) => {
    await start();
    const set = await scene(0.01);
    model.setScript(() => reply);
    const run = await ended((await invoke(set)).id);
    const { messages } = model.requests.at(-1)!;
    const prompt = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
    // At the default price, with the reserve for roles and templates.
    const reserved = ((prompt + 2100) * 0.003 + 8192 * 0.015) / 1000;
    expect(run.status).toBe('succeeded');
    expect(Number(run.cost_usd)).toBeGreaterThan((8192 * 0.015) / 1000);
    expect(Number(run.cost_usd)).toBeLessThanOrEqual(reserved);
    await expect(invoke(set)).rejects.toMatchObject({ message: 'budget exceeded' });
  });

  it('shared by many runs of two schedulers ends within the cap plus one reservation', async () => {
    await start();
    await start();
    const set = await scene(0.2);
    const crew = await Promise.all(
      Array.from({ length: 12 }, async () => createAgent(db.database.db, set.company)),
    );
    model.setScript(() => ({ text: '/list-issues', usage: dear }));
    const runs = await Promise.all(crew.map(async (agent) => invoke({ ...set, agent })));
    const results = await Promise.allSettled(runs.map(async ({ id }) => ended(id)));
    // Some may be waiting for the resume: paused before they were claimed.
    const spent = await db.database.db.execute<{ spent: number; reserved: number; billed: number }>(
      `select w.spent_usd::float as spent, w.reserved_usd::float as reserved,
        (select sum(cost_usd)::float from cost_events where company_id = '${set.company.id}') as billed
       from budget_windows w join budget_policies p on p.id = w.policy_id where p.company_id = '${set.company.id}'`,
    );
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
    const [row] = spent.rows;
    expect(row!.spent).toBeCloseTo(row!.billed, 8);
    expect(row!.spent).toBeLessThan(0.2 + 0.14);
    expect(row!.reserved).toBe(0);
  });
});

describe('what was approved', () => {
  it('is carried out by the job, whatever its kind; what can’t be says why', async () => {
    await start();
    const { company, human, agent } = await scene(null);
    const ask = async (kind: string, body: Record<string, unknown> | string) =>
      transaction(db.database, async (tx) => {
        const { id } = await createApproval(tx, actors.agent(agent), company.id, {
          type: 'install',
          title: kind,
          payload: { kind, body },
        });
        await approve(tx, human, (await findApproval(tx, id))!);
        return id;
      });
    const made = [
      await ask('agent', { name: 'Linus' }),
      await ask('note', { title: 'Linus' }),
      await ask('memory', { title: 'Linus' }),
      await ask('skill', '---\nname: Linus\ndescription: Sweeps\n---\nSweep.'),
      await ask('routine', { name: 'Linus' }),
      await ask('federation', { label: 'Linus', url: 'https://linus.example' }),
    ];
    const refused = [await ask('federation', { name: 'Linus' }), await ask('note', { body: 'untitled' })];
    await waitFor(async () => {
      const rows = await Promise.all(made.map(async (id) => findApproval(db.database.db, id)));
      return rows.every((row) => row?.applied_at);
    });
    const { rows } = await db.database.pool.query(
      `select (select count(*)::int from agents where company_id = $1 and name = 'Linus') as agents,
        (select array_agg(kind order by kind) from notes where company_id = $1) as notes,
        (select count(*)::int from skills where company_id = $1) as skills,
        (select count(*)::int from routines where company_id = $1) as routines,
        (select count(*)::int from a2a_peers where company_id = $1) as peers`,
      [company.id],
    );
    expect(rows).toEqual([{ agents: 1, notes: ['memory', 'note'], skills: 1, routines: 1, peers: 1 }]);
    const errors = await waitFor(async () => {
      const failed = await Promise.all(refused.map(async (id) => findApproval(db.database.db, id)));
      return failed.every((row) => row?.apply_error) && failed.map((row) => row?.apply_error);
    });
    expect(errors).toEqual([expect.stringContaining('label'), expect.stringContaining('title')]);
  });
});
