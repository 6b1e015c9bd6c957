import { hybridSearch, keyLedger, type ToolProvider, ToolRegistry } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { callCommand } from '@acp/queue';
import { FileStore, type Storage } from '@acp/storage';
import type { KnowledgeKeeper } from '../knowledge/knowledge-keeper.ts';
import { McpServers } from '../mcp/mcp-servers.ts';
import type { WorkspaceSources } from '../workspaces/sources.ts';
import { toolProviders } from './tool-providers.ts';

export type { ToolProvider };

interface ToolParts {
  database: Database;
  listener: Listener;
  storage: Storage;
  vault: Vault;
  config: Config;
  workspaces: Pick<WorkspaceSources, 'disk'>;
  logger: Logger;
  /** Embeds questions. */
  knowledge: Pick<KnowledgeKeeper, 'embedQuestion'>;
  /** Name of this process, as in `claimed_by`. */
  name: string;
}

/** The tools that `/mcp:` lines can call; follows changes made by other processes and connects to outside servers. */
export function openTools(
  parts: ToolParts,
  providers?: readonly ToolProvider[],
): { tools: ToolRegistry; mcp_servers: McpServers } {
  const { database, listener, logger } = parts;
  const bodies = new FileStore({ ...parts, ledger: keyLedger(database.db) }).passing('commands');
  const mcp_servers = new McpServers({
    ...parts,
    elsewhere: async (command, payload, caller) =>
      callCommand(database, listener, command, payload, { ...caller, bodies }),
  });
  const search = hybridSearch(async (...asked) => parts.knowledge.embedQuestion(...asked));
  const rows = providers ?? toolProviders({ database, listener, bodies, mcp_servers });
  const tools = new ToolRegistry(rows, logger, search);
  tools.listenTo(listener);
  return { tools, mcp_servers };
}
