import { mcpServerTools, peerTools, pluginTools, type ToolProvider } from '@acp/core';

/** Whose tools clients of MCP see beside the service's own. Here they are listed only: a scheduler calls them. */
export const listedProviders: readonly ToolProvider[] = [pluginTools, mcpServerTools, peerTools];
