/** Shows which scheduler owns what: an owner's name contains its pid. */
import type { TestDatabase } from '@acp/testkit';

interface Held {
  held_by: string | null;
  state: string;
  error: string | null;
}

/** True once all plugins run in these processes; throws the actual state otherwise. @param each number of plugins per process */
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

/** The process that runs an MCP program; NaN if there is none. */
export async function programHolder({ database }: TestDatabase, server_id: string): Promise<number> {
  const { rows } = await database.pool.query<{ held_by: string | null }>(
    'select held_by from mcp_servers where id = $1',
    [server_id],
  );
  return Number(rows[0]?.held_by?.split(':')[1]);
}
