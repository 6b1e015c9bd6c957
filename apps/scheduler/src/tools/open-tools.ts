import { type ToolProvider, ToolRegistry } from '@acp/core';
import type { Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { toolProviders } from './tool-providers.ts';

export type { ToolProvider };

/** What `/mcp:` lines can call; it hears of changes that other processes make. */
export function openTools(
  listener: Listener,
  logger: Logger,
  providers: readonly ToolProvider[] = toolProviders,
): ToolRegistry {
  const tools = new ToolRegistry(providers, logger);
  tools.listenTo(listener);
  return tools;
}
