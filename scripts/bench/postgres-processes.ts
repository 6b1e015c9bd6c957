/** The processes of the server that a database is on, the first and all below it. */
import type { TestDatabase } from '@acp/testkit';
import { descendants } from './service.ts';

/** @returns a function that looks for them anew: backends come and go with their connections */
export async function postgresProcesses({ database }: TestDatabase): Promise<() => Promise<number[]>> {
  const { rows } = await database.pool.query<{ file: string }>(
    `select pg_read_file('postmaster.pid', 0, 20) as file`,
  );
  const postmaster = Number(rows[0]?.file.split('\n')[0]);
  return async () => descendants(postmaster, /postgres/);
}
