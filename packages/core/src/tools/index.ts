/**
 * The company's own tools: the commands of the API under the names of the tool table, for `/mcp:` lines of agents and
 * for clients of MCP alike. Owns no table.
 */
export { callTool } from './call-tool.ts';
export type { ToolCaller } from './tool.ts';
