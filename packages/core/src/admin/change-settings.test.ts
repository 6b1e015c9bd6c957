import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { claimRun, invokeAgent, requestWakeups } from '../index.ts';
import { changeInstanceSettings } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
  // Leftovers of other tests in this database would be requeued first, and the number is limited.
  await database.db.execute(sql`delete from heartbeat_runs where status = 'queued'`);
  await database.db.execute(sql`delete from wakeup_requests where status = 'pending'`);
});

const pause = async (runs_paused: boolean | null) =>
  transaction(database, async (tx) => changeInstanceSettings(tx, actors.system, { runs_paused }));
afterEach(async () => pause(null));

describe('the end of an emergency stop', () => {
  it('offers at once what was woken or queued only a moment ago, and whose jobs found everything stopped', async () => {
    const company = await createCompany(database.db);
    const [ada, bob] = [await createAgent(database.db, company), await createAgent(database.db, company)];
    const issue = await createIssue(database.db, company, { assignee_agent_id: bob.id });
    const run = await transaction(database, async (tx) => invokeAgent(tx, actors.system, ada));
    await pause(true);
    const request = {
      company_id: company.id,
      agent_id: bob.id,
      issue_id: issue.id,
      reason: 'manual',
    } as const;
    await transaction(database, async (tx) => requestWakeups(tx, actors.system, [request]));
    // As if both jobs had been handled without being able to do anything.
    const claimed = await transaction(database, async (tx) =>
      claimRun(tx, { claimed_by: 'test', lease_sec: 30 }),
    );
    expect(claimed).toBeUndefined();
    await database.db.execute(sql`delete from pgboss.job`);

    await pause(false);
    expect(await queuedJobs(database.db, 'execute-run', { run_id: run.id })).toHaveLength(1);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: bob.id })).toHaveLength(1);
  });
});
