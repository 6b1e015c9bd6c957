/**
 * Owns `mcp_servers`, `mcp_server_agents` and `mcp_server_calls`: external servers whose tools a company's agents call (decisions
 * 10.14). Invariants: headers contain secrets only by name; what a server says about itself is validated, stored within limits,
 * and limited to its last listing; each call decides from the row whether the server may be called; a program is one that the
 * operator offers, and runs in one scheduler at a time.
 */
export {
  createMcpServer,
  deleteMcpServer,
  findMcpServer,
  listMcpServers,
  offeredMcpCommands,
  updateMcpServer,
} from './mcp-servers.ts';
export type { McpServerRules } from './mcp-servers.ts';
export { presentMcpServer } from './present.ts';
export { companyMcpTools, listedMcpTools } from './listed-tools.ts';
export type { ListedMcpTool } from './listed-tools.ts';
export { claimMcpServers, recordListing, recordListingFailure, refreshSoon } from './listing.ts';
export { mcpServerAddress } from './server-address.ts';
export type { McpServerAddress } from './server-address.ts';
export { claimMcpProgram, existingMcpPrograms, releaseMcpProgram, renewMcpPrograms } from './programs.ts';
export type { McpProgramHold } from './programs.ts';
export { deleteMcpCallsBefore, listMcpCalls, recordMcpCall } from './calls.ts';
