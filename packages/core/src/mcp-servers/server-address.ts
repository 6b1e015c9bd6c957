import { schema, type Tx } from '@acp/db';
import { and, eq } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';

const { companies, mcp_servers } = schema;

/** What a call or listing needs to know about a server. */
export interface McpServerAddress {
  id: string;
  company_id: string;
  name: string;
  /** Null: it is the program `command`. */
  url: string | null;
  /** Secrets are referenced by name, as in `env`, and resolved when sent. */
  headers: Record<string, string>;
  command: string | null;
  env: Record<string, string>;
  timeout_seconds: number;
  /** From the last listing. */
  protocol_version: string | null;
  /** Version of the row: a listing is not recorded if the row has changed since. */
  updated_at: Date;
}

/** Undefined if there is no such server, or it is disabled. */
export async function mcpServerAddress(tx: Tx, id: string): Promise<McpServerAddress | undefined> {
  const [row] = await tx
    .select({
      id: mcp_servers.id,
      company_id: mcp_servers.company_id,
      name: mcp_servers.name,
      url: mcp_servers.url,
      headers: mcp_servers.headers,
      command: mcp_servers.command,
      env: mcp_servers.env,
      timeout_seconds: mcp_servers.timeout_seconds,
      protocol_version: mcp_servers.protocol_version,
      updated_at: mcp_servers.updated_at,
    })
    .from(mcp_servers)
    .innerJoin(companies, ofLiveCompany(mcp_servers.company_id))
    .where(and(eq(mcp_servers.id, id), eq(mcp_servers.enabled, true)));
  return (
    row && {
      ...row,
      headers: row.headers as Record<string, string>,
      env: row.env as Record<string, string>,
    }
  );
}
