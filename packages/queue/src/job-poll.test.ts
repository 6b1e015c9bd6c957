import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { PgBoss } from 'pg-boss';
import { jobCatalogue } from '@acp/contract';
import { newId } from '@acp/kernel';
import { cloneDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { createBoss } from './boss.ts';
import { JobPoll, queuesWithJobs } from './job-poll.ts';
import { migrateQueue } from './migrate-queue.ts';

let test: TestDatabase;
let boss: PgBoss;
beforeAll(async () => {
  test = await cloneDatabase('job_poll');
  await migrateQueue(test.url, jobCatalogue);
  boss = createBoss(test.database, 'client');
  await boss.start();
});
// Its timers would keep jest's worker from ending.
afterAll(async () => boss.stop({ graceful: false, close: false }));

it('finds the queues with jobs that may start now, whichever table they are in, in one statement', async () => {
  const { database } = test;
  const queues = Object.keys(jobCatalogue);
  expect(await queuesWithJobs(database, queues)).toEqual([]);
  await boss.insert('dispatch-agent', [{ data: { agent_id: newId() } }]);
  await boss.insert('settle-issue', [{ data: { issue_id: newId() } }]);
  await boss.insert('settle-agent', [{ data: { agent_id: newId() }, startAfter: 3600 }]);
  const before = database.statements();
  expect((await queuesWithJobs(database, queues)).toSorted()).toEqual(['dispatch-agent', 'settle-issue']);
  expect(database.statements() - before).toBe(1);
  // Nobody else's queues.
  expect(await queuesWithJobs(database, ['settle-issue'])).toEqual(['settle-issue']);
  await boss.fetch('settle-issue');
  expect(await queuesWithJobs(database, queues)).toEqual(['dispatch-agent']);
});

it('repeats kicks that were lost, also after it failed', async () => {
  await boss.insert('settle-company', [{ data: { company_id: newId() } }]);
  const kicked: string[] = [];
  const consumer = (job: 'settle-company' | 'settle-agent') => ({ job, kick: () => kicked.push(job) });
  const warnings: string[] = [];
  let down = true;
  const db = Object.assign(Object.create(test.database.db), {
    execute: async (statement: never) => {
      if (down) throw new Error('away');
      return test.database.db.execute(statement);
    },
  });
  const logger = { warn: (message: string) => warnings.push(message) } as never;
  const consumers = [consumer('settle-company'), consumer('settle-agent')] as never;
  const poll = new JobPoll({ database: { ...test.database, db }, consumers, logger, every_ms: 5 });
  await waitFor(() => warnings.length > 1);
  expect(kicked).toEqual([]);
  down = false;
  await waitFor(() => kicked.length > 1);
  poll.stop();
  expect(new Set(kicked)).toEqual(new Set(['settle-company']));
});
