import { keyLedger, type ToolProvider, ToolRegistry } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { FileStore, type Storage } from '@acp/storage';
import { toolProviders } from './tool-providers.ts';

export type { ToolProvider };

export interface ToolParts {
  database: Database;
  listener: Listener;
  storage: Storage;
  logger: Logger;
}

/** What `/mcp:` lines can call; it hears of changes that other processes make. */
export function openTools(parts: ToolParts, providers?: readonly ToolProvider[]): ToolRegistry {
  const { database, listener, logger } = parts;
  const bodies = new FileStore({ ...parts, ledger: keyLedger(database.db) }).passing('commands');
  const tools = new ToolRegistry(providers ?? toolProviders({ database, listener, bodies }), logger);
  tools.listenTo(listener);
  return tools;
}
