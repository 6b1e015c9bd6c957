import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { createRunningRun, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { sweepRemoteResults } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

it('a result whose job was lost is applied, though more than a batch of older ones can’t be', async () => {
  const { company, ada } = await createRunningRun(database.db);
  const { rows } = await database.db.execute<{ id: string }>(sql`
    with runs as (
      insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, subject_type, subject_id, live_key, status)
      select ${company.id}, ${ada.id}, 'manual', 'http', 'issue', gen_random_uuid(), 'issue:' || gen_random_uuid(), 'running'
      from generate_series(1, 301) returning id
    ), tasks as (
      insert into remote_tasks (heartbeat_run_id, agent_id, company_id, payload, deadline, status, completed_at)
      select id, ${ada.id}, ${company.id}, '{}', now(), 'completed',
        now() - interval '1 hour' + make_interval(secs => row_number() over ())
      from runs returning id, completed_at
    ) select id from tasks order by completed_at desc limit 1`);
  const task_id = rows[0]!.id;
  for (let look = 0; look < 30; look += 1)
    expect(await transaction(database, async (tx) => sweepRemoteResults(tx))).toBe(200);
  expect((await queuedJobs(database.db, 'apply-remote-result', { task_id })).length).toBeGreaterThan(0);
});
