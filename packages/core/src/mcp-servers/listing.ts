import { schema, signal, storedNow, type Tx } from '@acp/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import type { ListedMcpTool } from './listed-tools.ts';

const { mcp_servers } = schema;

/** Outcome of a listing. */
interface McpListing {
  tools: ListedMcpTool[];
  protocol_version: string | null;
  server_info: string | null;
}

/** If a process dies while listing a server, the listing is due again after this time. */
const CLAIM_SEC = 120;
/** Delay after the first failure; doubled with each further one, up to an hour. */
const FIRST_PAUSE_SEC = 30;
const LAST_PAUSE_SEC = 3600;
/** A server may announce changed tools as often as it likes; this is the minimum interval. */
const LEAST_PAUSE_SEC = 15;

/**
 * Claims servers whose tools are due for listing, longest waiting first; those of a trashed company are postponed.
 * @param except companies that have enough in progress
 */
export async function claimMcpServers(
  tx: Tx,
  limit: number,
  except: readonly string[] = [],
): Promise<{ id: string; company_id: string }[]> {
  const { rows } = await tx.execute<{ id: string; company_id: string; alive: boolean }>(sql`
    with due as materialized (
      select s.id, c.deleted_at is null as alive from mcp_servers s join companies c on c.id = s.company_id
      where s.next_refresh_at is not null and s.next_refresh_at <= ${storedNow}
        and s.company_id <> all(${sql.param(except)}::uuid[])
      order by s.next_refresh_at limit ${limit}
      for no key update of s skip locked
    )
    update mcp_servers s
    set next_refresh_at = now() + case when alive then make_interval(secs => ${CLAIM_SEC}) else interval '1 hour' end
    from due where s.id = due.id
    returning s.id, s.company_id, alive`);
  return rows.filter(({ alive }) => alive);
}

/** @param asked when the server's row was read: later changes trigger a new listing anyway */
export async function recordListing(
  tx: Tx,
  { id, updated_at }: Asked,
  { tools, protocol_version, server_info }: McpListing,
): Promise<void> {
  const [before] = await tx
    .select({ listed: mcp_servers.listed_tools, status: mcp_servers.status })
    .from(mcp_servers)
    .where(stillAs(id, updated_at))
    .for('no key update');
  if (before === undefined) return;
  const [row] = await tx
    .update(mcp_servers)
    .set({
      listed_tools: tools,
      tool_count: tools.length,
      protocol_version,
      server_info,
      status: 'healthy',
      last_listed_at: sql`now()`,
      last_error: null,
      failing_since: null,
      failures: 0,
      next_refresh_at: sql`now() + make_interval(secs => refresh_interval_seconds)`,
    })
    .where(eq(mcp_servers.id, id))
    .returning({ company_id: mcp_servers.company_id });
  // Compared by value: jsonb determines the order of fields.
  const same = before.status === 'healthy' && sameTools(before.listed as ListedMcpTool[], tools);
  if (!same) signal(tx, 'tools', row!.company_id);
}

interface Asked {
  id: string;
  updated_at: Date;
}

const stillAs = (id: string, updated_at: Date) =>
  and(eq(mcp_servers.id, id), eq(mcp_servers.updated_at, updated_at), eq(mcp_servers.enabled, true));

function sameTools(before: readonly ListedMcpTool[], after: readonly ListedMcpTool[]): boolean {
  const text = (tools: readonly ListedMcpTool[]) => JSON.stringify(tools, sortedFields);
  return text(before) === text(after);
}

function sortedFields(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Keeps the tools: a server that is away for a minute still has them afterwards. Admins are notified once. */
export async function recordListingFailure(tx: Tx, { id, updated_at }: Asked, error: string): Promise<void> {
  const [row] = await tx
    .update(mcp_servers)
    .set({
      status: 'failing',
      last_error: error,
      failing_since: sql`coalesce(failing_since, now())`,
      failures: sql`failures + 1`,
      next_refresh_at: sql`now() + (0.75 + random() / 2) * make_interval(secs => least(${LAST_PAUSE_SEC}, ${FIRST_PAUSE_SEC} * 2 ^ least(failures, 20)))`,
    })
    .where(stillAs(id, updated_at))
    .returning({
      company_id: mcp_servers.company_id,
      name: mcp_servers.name,
      failures: mcp_servers.failures,
    });
  if (row?.failures !== 1) return;
  const entity = { entity_type: 'mcp_server', entity_id: id };
  const message = `The MCP server ${row.name} does not answer as it should: ${error}`;
  const data = { topic: 'mcp_server', level: 'warning' as const, message, ...entity };
  await recordChanges(tx, systemActor('mcp'), [
    { company_id: row.company_id, ...entity, event: { type: 'notification', data } },
  ]);
}

/** The server announced changed tools, or stopped responding to calls: list it soon. */
export async function refreshSoon(tx: Tx, id: string): Promise<void> {
  await tx
    .update(mcp_servers)
    .set({
      next_refresh_at: sql`greatest(now(), last_listed_at + make_interval(secs => ${LEAST_PAUSE_SEC}))`,
    })
    .where(
      and(
        eq(mcp_servers.id, id),
        eq(mcp_servers.status, 'healthy'),
        gt(mcp_servers.next_refresh_at, sql`now() + make_interval(secs => ${LEAST_PAUSE_SEC})`),
      ),
    );
}
