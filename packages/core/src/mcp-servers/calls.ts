import type { Actor, McpServerCall } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { and, asc, eq, inArray, lt, sql } from 'drizzle-orm';
import { actorId, actorType } from '../activity/index.ts';

const { mcp_server_calls } = schema;

interface FinishedCall {
  tool: string;
  /** Null: it succeeded. */
  error: string | null;
  duration_ms: number;
}

/** For use in a separate transaction: a call stays counted whatever happens to the run. */
export async function recordMcpCall(
  tx: Tx,
  server_id: string,
  actor: Actor,
  { tool, error, duration_ms }: FinishedCall,
): Promise<void> {
  await tx.execute(sql`
    with server as (
      update mcp_servers set call_count = call_count + 1, last_called_at = now(),
        failed_call_count = failed_call_count + ${error === null ? 0 : 1}
      where id = ${server_id} returning id
    )
    insert into mcp_server_calls (server_id, tool, actor_type, actor_id, actor_name, ok, error, duration_ms)
    select id, ${tool}, ${actorType(actor)}, ${actorId(actor)}::uuid, ${actor.name}, ${error === null}, ${error}, ${duration_ms}
    from server`);
}

export async function listMcpCalls(
  tx: Tx,
  { id }: { id: string },
  query: PageRequest,
): Promise<Page<McpServerCall>> {
  const page = newestFirst(mcp_server_calls.created_at, mcp_server_calls.id, query, 50);
  const rows = await tx
    .select()
    .from(mcp_server_calls)
    .where(and(eq(mcp_server_calls.server_id, id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, (row) => ({ at: row.created_at, id: row.id }), presentCall);
}

function presentCall(row: typeof mcp_server_calls.$inferSelect): McpServerCall {
  return {
    id: row.id,
    server_id: row.server_id,
    tool: row.tool,
    actor_type: row.actor_type,
    actor_id: row.actor_id,
    actor_name: row.actor_name,
    ok: row.ok,
    error: row.error,
    duration_ms: row.duration_ms,
    created_at: row.created_at,
  };
}

/** Deletes calls older than `days`. @returns how many, at most `limit` */
export async function deleteMcpCallsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const old = tx
    .select({ id: mcp_server_calls.id })
    .from(mcp_server_calls)
    .where(lt(mcp_server_calls.created_at, sql`now() - make_interval(days => ${days})`))
    .orderBy(asc(mcp_server_calls.created_at))
    .limit(limit);
  const result = await tx.delete(mcp_server_calls).where(inArray(mcp_server_calls.id, old));
  return result.rowCount ?? 0;
}
