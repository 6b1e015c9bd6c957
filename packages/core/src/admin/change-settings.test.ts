import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { UpdateInstanceSettings } from '@acp/contract';
import { type Database, transaction, type Tx } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  meetAt,
  queuedJobs,
} from '@acp/testkit';
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

it('two may change the same settings at once, in whatever order each of them names them', async () => {
  const change = async (patch: UpdateInstanceSettings) =>
    transaction(database, async (tx) => changeInstanceSettings(tx, actors.system, patch));
  const days = { trash_retention_days: 10, run_retention_days: 10, event_retention_days: 3 };
  await change(days);
  const outcomes = await meetAt(
    database,
    sql`select from instance_settings where key = 'run_retention_days' for update`,
    [days, { event_retention_days: 4, trash_retention_days: 11 }].map(
      (patch) => async (tx: Tx) => changeInstanceSettings(tx, actors.system, patch),
    ),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  const none = { trash_retention_days: null, run_retention_days: null, event_retention_days: null };
  expect(await change(none)).toMatchObject(none);
});
