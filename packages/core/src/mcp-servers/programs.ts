import { schema, type Tx } from '@acp/db';
import { inArray, sql } from 'drizzle-orm';

const { mcp_servers } = schema;

/** A server's program as run by one scheduler. A scheduler with another fence has lost it. */
export interface McpProgramHold {
  server_id: string;
  held_by: string;
  fence: number;
}

/** Outcome of a claim. */
type McpProgramClaim =
  | { how: 'held'; fence: number }
  | { how: 'elsewhere' }
  /** It has exited by itself too often recently. */
  | { how: 'unstable' };

const MOST_CRASHES = 3;
const CRASHES_MINUTES = 5;

/** Acquires or renews the right to run the program. */
export async function claimMcpProgram(
  tx: Tx,
  server_id: string,
  held_by: string,
  lease_sec: number,
): Promise<McpProgramClaim> {
  const { rows } = await tx.execute<{ fence: string | null; unstable: boolean | null }>(sql`
    with server as materialized (
      select id, coalesce(cardinality(crashed_at) >= ${MOST_CRASHES}
        and crashed_at[1] > now() - make_interval(mins => ${CRASHES_MINUTES}), false) as unstable
      from mcp_servers where id = ${server_id} for no key update
    ), taken as (
      update mcp_servers s set lease_until = now() + make_interval(secs => ${lease_sec}), held_by = ${held_by},
        fence = case when s.held_by = ${held_by} and lease_until >= now() then fence else fence + 1 end
      from server where s.id = server.id and not unstable
        and (held_by is null or held_by = ${held_by} or lease_until < now())
      returning fence
    )
    select (select fence from taken) as fence, (select unstable from server) as unstable`);
  const { fence = null, unstable = null } = rows[0] ?? {};
  if (fence !== null) return { how: 'held', fence: Number(fence) };
  return { how: unstable === true ? 'unstable' : 'elsewhere' };
}

/** Renews all of a scheduler's holds in one statement. Those missing from the result are lost, or no longer supposed to run. */
export async function renewMcpPrograms(
  tx: Tx,
  holds: readonly McpProgramHold[],
  lease_sec: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    update mcp_servers s set lease_until = now() + make_interval(secs => ${lease_sec})
    from jsonb_to_recordset(${JSON.stringify(holds)}::jsonb) as h(server_id uuid, held_by text, fence bigint),
      companies c
    where s.id = h.server_id and s.fence = h.fence and s.held_by = h.held_by and s.enabled
      and c.id = s.company_id and c.deleted_at is null
    returning s.id`);
  return new Set(rows.map(({ id }) => id));
}

/** Nothing of the program is left here, so the next caller may run it. @param crashed its exit was unintended */
export async function releaseMcpProgram(
  tx: Tx,
  { server_id, held_by, fence }: McpProgramHold,
  crashed: boolean,
): Promise<void> {
  await tx.execute(sql`
    update mcp_servers set held_by = null, lease_until = null, crashed_at = case when ${crashed}
      then (crashed_at || now())[greatest(1, cardinality(crashed_at) + 2 - ${MOST_CRASHES}):] else crashed_at end
    where id = ${server_id} and held_by = ${held_by} and fence = ${fence}`);
}

/**
 * Existing programs, each with its owner's fence, or the next owner's if it has none: processes with a lower fence are leftovers.
 */
export async function existingMcpPrograms(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx
    .select({
      id: mcp_servers.id,
      fence: sql<string>`fence + case when held_by is null or lease_until < now() then 1 else 0 end`,
    })
    .from(mcp_servers)
    .where(inArray(mcp_servers.id, [...ids]));
  return new Map(rows.map(({ id, fence }) => [id, Number(fence)]));
}
