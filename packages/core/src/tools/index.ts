/**
 * A company's tools, for agents' `/mcp:` lines and MCP clients alike: the API's commands under the names of the tool table, plus
 * what external providers add. Owns no table.
 */
export { hybridSearch } from './knowledge-tools.ts';
export { pluginTools, pluginToolProvider } from './plugin-tools.ts';
export { mcpServerTools } from './mcp-server-tools.ts';
export type { McpTool } from './mcp-server-tools.ts';
export { peerTools } from './peer-tools.ts';
export { nameCalled, qualifiedName } from './provider.ts';
export type { Tool, ToolCall, ToolProvider } from './provider.ts';
export { ToolComing, ToolRegistry } from './tool-registry.ts';
