import type { McpServerTool } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, asc, eq } from 'drizzle-orm';
import { listPluginTools } from '../plugins/index.ts';
import { type McpServerRow, serverAgents } from './present.ts';

const { mcp_servers } = schema;

/** A tool as described by its server, within limits. */
export interface ListedMcpTool {
  /** The server's own name for it. */
  name: string;
  /** Only letters, digits, `_` and `-`, and unique on the server. */
  called: string;
  description: string;
  input_schema: Record<string, unknown>;
  read_only: boolean;
  /** The server's names of further tools that would be called the same. */
  left_out?: string[];
}

/** Includes who may call it. */
interface CompanyMcpTool extends ListedMcpTool {
  server_id: string;
  /** The server's prefix for the tool's name. */
  namespace: string;
  /** Undefined: every agent of the company. */
  agents: string[] | undefined;
}

/** The server's tools, allowed or not. */
export async function listedMcpTools(
  tx: Tx,
  { id, company_id, name, allowed_tools }: Pick<McpServerRow, 'id' | 'company_id' | 'name' | 'allowed_tools'>,
): Promise<McpServerTool[]> {
  const [row] = await tx
    .select({ tools: mcp_servers.listed_tools })
    .from(mcp_servers)
    .where(eq(mcp_servers.id, id));
  const isAllowed = among(allowed_tools as string[] | null);
  const plugins = await listPluginTools(tx, company_id);
  const taken = new Set(plugins.map((tool) => `${tool.namespace}__${tool.name}`));
  return ((row?.tools ?? []) as ListedMcpTool[]).map((tool) => ({
    name: tool.name,
    called: `${name}__${tool.called}`,
    description: tool.description,
    input_schema: tool.input_schema,
    read_only: tool.read_only,
    allowed: isAllowed(tool.name),
    left_out: tool.left_out ?? [],
    taken: taken.has(`${name}__${tool.called}`),
  }));
}

/** Everything that the company's agents may call, oldest server first. */
export async function companyMcpTools(tx: Tx, company_id: string): Promise<CompanyMcpTool[]> {
  const rows = await tx
    .select({
      server_id: mcp_servers.id,
      namespace: mcp_servers.name,
      listed: mcp_servers.listed_tools,
      allowed: mcp_servers.allowed_tools,
      restricted: mcp_servers.restricted,
      access: serverAgents,
    })
    .from(mcp_servers)
    .where(and(eq(mcp_servers.company_id, company_id), eq(mcp_servers.enabled, true)))
    .orderBy(asc(mcp_servers.created_at), asc(mcp_servers.id));
  return rows.flatMap(({ server_id, namespace, listed, allowed, restricted, access }) => {
    const isAllowed = among(allowed as string[] | null);
    const callers = access.map(({ agent_id, tools }) => ({ agent_id, mayCall: among(tools) }));
    return (listed as ListedMcpTool[])
      .filter(({ name }) => isAllowed(name))
      .map((tool) => ({
        ...tool,
        server_id,
        namespace,
        agents: restricted
          ? callers.filter(({ mayCall }) => mayCall(tool.name)).map(({ agent_id }) => agent_id)
          : undefined,
      }));
  });
}

/** Whether a name is one of these; null: any is. A server may list five hundred tools, and so may each of its agents. */
function among(names: readonly string[] | null): (name: string) => boolean {
  const all = names && new Set(names);
  return (name) => all?.has(name) ?? true;
}
