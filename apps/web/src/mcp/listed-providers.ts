import { mcpServerTools, peerTools, pluginTools, type ToolProvider } from '@acp/core';

/** Providers whose tools MCP clients see besides the service's own. They are only listed here: a scheduler calls them. */
export const listedProviders: readonly ToolProvider[] = [pluginTools, mcpServerTools, peerTools];
