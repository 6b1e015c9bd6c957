import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createAgent, createCompany, createIssue, databaseWithQueue, plansOf, stepsOf } from '@acp/testkit';
import { agentFigures, dayFigures } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company, { title: 'At it' });
  const run = async (status: string, more: Partial<typeof schema.heartbeat_runs.$inferInsert> = {}) => {
    const base = { company_id: company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type: 'llm' };
    const [row] = await database.db
      .insert(schema.heartbeat_runs)
      .values({ ...base, status, ...more })
      .returning();
    return row!;
  };
  return { company, agent, issue, run };
}

const DAY_MS = 86_400_000;

describe('figures', () => {
  it('count the days of two weeks, those without anything too, and nothing older', async () => {
    const s = await stage();
    await s.run('succeeded');
    await s.run('failed');
    await s.run('succeeded', { created_at: new Date(Date.now() - 40 * DAY_MS) });
    await createIssue(database.db, s.company, { title: 'Over', status: 'done' });
    const spent = { provider: 'x', model: 'y', input_tokens: 1, output_tokens: 1, cached_tokens: 0 };
    await database.db
      .insert(schema.cost_events)
      .values({ company_id: s.company.id, ...spent, cost_usd: '1.5' });
    const days = await dayFigures(database.db, s.company.id);
    expect(days).toHaveLength(14);
    const nothing = { runs: 0, succeeded: 0, failed: 0, issues_done: 0, cost_usd: 0 };
    expect(days[0]).toMatchObject(nothing);
    const all = days.map(({ day: _day, ...figures }) => figures);
    expect(all.at(-1)).toEqual({ runs: 2, succeeded: 1, failed: 1, issues_done: 1, cost_usd: 1.5 });
  });

  it('tell of each agent its last run, what it works on, and how its newest twenty went', async () => {
    const s = await stage();
    for (let at = 0; at < 25; at += 1)
      await s.run(at < 5 ? 'failed' : 'succeeded', { created_at: new Date(Date.now() - (60 - at) * 1000) });
    const now = await s.run('running', { issue_id: s.issue.id, cost_usd: '0.25' });
    const before = database.statements();
    const [figures] = await agentFigures(database.db, s.company.id);
    expect(database.statements() - before).toBe(1);
    expect(figures).toMatchObject({
      agent_id: s.agent.id,
      last_run_id: now.id,
      last_run_at: now.created_at,
      last_status: 'running',
      ended: 19,
      succeeded: 19,
      current_issue: { id: s.issue.id, title: 'At it' },
    });
    expect(figures!.runs).toHaveLength(20);
    expect(figures!.runs.at(-1)).toEqual({ status: 'running', cost_usd: 0.25 });
  });

  it('read the newest runs of an agent alone, and have them oldest first', async () => {
    const s = await stage();
    const start = Date.now() - 100_000;
    // Written in another order than they began in.
    for (const at of Array.from({ length: 40 }, (_, n) => (n * 7) % 40))
      await s.run(at % 3 === 0 ? 'failed' : 'succeeded', {
        created_at: new Date(start + at * 1000),
        cost_usd: `0.${at + 10}`,
      });
    const read = async (db: Database['db']) => agentFigures(db, s.company.id);
    expect((await read(database.db))[0]).toMatchObject({ ended: 20, succeeded: 13, last_status: 'failed' });
    expect((await read(database.db))[0]!.runs).toEqual(
      Array.from({ length: 20 }, (_, n) => ({
        status: (n + 20) % 3 === 0 ? 'failed' : 'succeeded',
        cost_usd: (n + 30) / 100,
      })),
    );
    const [plan] = await plansOf(database, read);
    const ofRuns = stepsOf(plan!).filter((step) => step['Relation Name'] === 'heartbeat_runs');
    expect(ofRuns.map((step) => [step['Index Name'], step['Actual Rows']])).toEqual([
      ['heartbeat_runs_agent', 20],
    ]);
  });

  it('name no issue of a run that is private, and no agent of another company', async () => {
    const [s, other] = [await stage(), await stage()];
    await s.run('running', { issue_id: s.issue.id, private_to_user_id: s.agent.id });
    expect((await agentFigures(database.db, s.company.id)).map((each) => each.current_issue)).toEqual([null]);
    expect((await agentFigures(database.db, other.company.id)).map((each) => each.agent_id)).toEqual([
      other.agent.id,
    ]);
  });
});
