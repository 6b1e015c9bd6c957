import type { JobName } from '@acp/contract';
import type { Database, Tx } from '@acp/db';
import { openQueue } from '@acp/queue';
import type { Queue } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { testDatabase } from './test-database.ts';

let opened: Queue | undefined;

/** This file's database with a queue that only enqueues, so that commands can be tested: nothing runs the jobs. */
export async function databaseWithQueue(): Promise<Database> {
  const { database } = await testDatabase();
  opened ??= await openQueue({ database, role: 'client' });
  return database;
}

export async function stopQueue(): Promise<void> {
  const queue = opened;
  opened = undefined;
  await queue?.stop();
}

/** Payloads of the jobs of that name that no one has fetched, oldest first. `match` filters them by their fields. */
export async function queuedJobs(
  tx: Tx,
  job: JobName,
  match: Record<string, unknown> = {},
): Promise<Record<string, unknown>[]> {
  const { rows } = await tx.execute<{ data: Record<string, unknown> }>(sql`
    select data from pgboss.job
    where name = ${job} and state = 'created' and data @> ${JSON.stringify(match)}::jsonb order by created_on`);
  return rows.map((row) => row.data);
}
