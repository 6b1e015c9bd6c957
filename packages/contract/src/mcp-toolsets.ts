/**
 * What an MCP client may restrict itself to: every tool it lists is in its model's context, and the whole list is a third of a
 * megabyte. The key's rights stay as they are.
 */
export const mcpToolsets = {
  issues: [
    'issues',
    'comments',
    'documents',
    'attachments',
    'work-products',
    'labels',
    'relations',
    'execution-decisions',
    'inbox',
    'search',
  ],
  planning: ['projects', 'goals', 'routines', 'routine-triggers', 'approvals'],
  knowledge: ['notes', 'skills', 'knowledge', 'compiled-index'],
  agents: ['agents', 'agent-files', 'task-sessions', 'subagents', 'evolutions'],
  runs: ['runs', 'activity'],
  costs: ['budgets', 'figures'],
  code: ['workspaces', 'review-comments', 'workspace-actions'],
  conversations: ['chats', 'councils', 'peers'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** `external`: what plugins and other MCP servers provide to the company. */
export type McpToolset = keyof typeof mcpToolsets | 'external';

export const mcpToolsetNames: readonly string[] = [...Object.keys(mcpToolsets), 'external'];

const bySlice: ReadonlyMap<string, McpToolset> = new Map(
  Object.entries(mcpToolsets).flatMap(([name, slices]) =>
    slices.map((slice) => [slice, name as McpToolset] as const),
  ),
);

/** @param slice the first word of an endpoint's id. @throws if it is in no set: a slice that becomes tools belongs to one */
export function toolsetOf(slice: string): McpToolset {
  const name = bySlice.get(slice);
  if (name === undefined) throw new Error(`the slice ${slice} is in no toolset (mcp-toolsets.ts)`);
  return name;
}
