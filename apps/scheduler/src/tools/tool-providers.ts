import type { ToolProvider } from '@acp/core';

/**
 * The table of those who give tools to companies beside the service's own commands: one row each (docs/adding-a-tool-provider.md).
 * Of two tools of one name the earlier row's counts.
 */
export const toolProviders: readonly ToolProvider[] = [];
