import { mcpServerTools, type McpTool, peerTools, pluginToolProvider, type ToolProvider } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import { callCommand, type CommandBodies } from '@acp/queue';
import type { McpServers } from '../mcp/mcp-servers.ts';

interface ProviderParts {
  database: Database;
  listener: Listener;
  /** Stores inputs and answers that are too large for a row. */
  bodies: CommandBodies;
  mcp_servers: McpServers;
}

/** Upper bound for any outside server; each has its own limit below it. */
const LONGEST_CALL_MS = 120_000;

/**
 * The providers of companies' tools besides the service's own commands: one row each (docs/adding-a-tool-provider.md).
 * If two tools have the same name, the earlier row wins.
 */
export function toolProviders({
  database,
  listener,
  bodies,
  mcp_servers,
}: ProviderParts): readonly ToolProvider[] {
  return [
    pluginToolProvider(async (command, { actor, company_id }) => {
      const options = { actor, company_id, bodies };
      const { result } = await callCommand(database, listener, 'invoke-plugin-tool', command, options);
      return result;
    }),
    {
      ...mcpServerTools,
      timeout_ms: LONGEST_CALL_MS,
      prepare: async (call, signal) => mcp_servers.call(call.tool as McpTool, call, signal),
    },
    peerTools,
  ];
}
