/** Pids of the server a database is on: the postmaster and all its descendants. */
import type { TestDatabase } from '@acp/testkit';
import { descendants } from './service.ts';

/** @returns a function that looks them up again: backends start and exit with their connections */
export async function postgresProcesses({
  database,
}: Pick<TestDatabase, 'database'>): Promise<() => Promise<number[]>> {
  const { rows } = await database.pool.query<{ file: string }>(
    `select pg_read_file('postmaster.pid', 0, 20) as file`,
  );
  const postmaster = Number(rows[0]?.file.split('\n')[0]);
  return async () => descendants(postmaster, /postgres/);
}
