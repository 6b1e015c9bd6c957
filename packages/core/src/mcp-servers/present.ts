import type { McpServer } from '@acp/contract';
import { schema } from '@acp/db';
import { getTableColumns, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';

const { mcp_servers } = schema;

// The tools are left out, since they would make a list of servers large.
const { listed_tools: _, ...columns } = getTableColumns(mcp_servers);

/** Agents with access to a server, except trashed ones; for any statement that reads `mcp_servers`. */
export const serverAgents = sql<{ agent_id: string; tools: string[] | null }[]>`(
  select coalesce(json_agg(json_build_object('agent_id', a.agent_id, 'tools', a.tools) order by a.agent_id), '[]')
  from mcp_server_agents a join agents g on g.id = a.agent_id
  where a.server_id = mcp_servers.id and g.deleted_at is null)`;

/** The columns to read: the row without the listed tools, plus the agents with access. */
export const serverColumns = { ...columns, agents: serverAgents };

export type McpServerRow = Omit<typeof schema.mcp_servers.$inferSelect, 'listed_tools'> & {
  /** Agents in the trash are left out. */
  agents: { agent_id: string; tools: string[] | null }[];
};

export function presentMcpServer(row: McpServerRow): McpServer {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    url: row.url,
    headers: row.headers as Record<string, string>,
    command: row.command,
    env: row.env as Record<string, string>,
    tools: row.allowed_tools as string[] | null,
    agents: row.restricted ? row.agents : null,
    enabled: row.enabled,
    timeout_seconds: row.timeout_seconds,
    refresh_interval_seconds: row.refresh_interval_seconds,
    status: row.status as McpServer['status'],
    tool_count: row.tool_count,
    protocol_version: row.protocol_version,
    server_info: row.server_info,
    last_listed_at: row.last_listed_at,
    last_error: row.last_error,
    failing_since: row.failing_since,
    call_count: row.call_count,
    failed_call_count: row.failed_call_count,
    last_called_at: row.last_called_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Only the host of its URL: paths and queries may contain tokens. */
export function changeOfServer(
  {
    id,
    company_id,
    name,
    url,
    command,
  }: Pick<McpServerRow, 'id' | 'company_id' | 'name' | 'url' | 'command'>,
  action: string,
  details: Record<string, unknown> = {},
): Change {
  const place = url === null ? { command } : { host: new URL(url).host };
  const about = { name, ...place, ...details };
  return { company_id, action, entity_type: 'mcp_server', entity_id: id, details: about };
}
