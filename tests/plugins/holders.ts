/** Which scheduler has what: a holder's name has the id of its process in the middle. */
import type { TestDatabase } from '@acp/testkit';

interface Held {
  held_by: string | null;
  state: string;
  error: string | null;
}

/** All plugins run in so many processes. Says what is instead. @param each how many every one of them has */
export async function heldBy({ database }: TestDatabase, pids: number[], each?: number): Promise<true> {
  const { rows } = await database.pool.query<Held>(
    `select held_by, state, error from plugins where state <> 'installed'`,
  );
  const counts = pids.map(
    (pid) => rows.filter(({ held_by, state }) => state === 'running' && held_by?.includes(`:${pid}:`)).length,
  );
  const isAll = counts.reduce((sum, n) => sum + n, 0) === rows.length;
  if (isAll && counts.every((n) => (each === undefined ? n > 0 : n === each))) return true;
  throw new Error(JSON.stringify({ pids, rows }));
}

/** The process that runs an MCP program; NaN where none does. */
export async function programHolder({ database }: TestDatabase, server_id: string): Promise<number> {
  const { rows } = await database.pool.query<{ held_by: string | null }>(
    'select held_by from mcp_servers where id = $1',
    [server_id],
  );
  return Number(rows[0]?.held_by?.split(':')[1]);
}
