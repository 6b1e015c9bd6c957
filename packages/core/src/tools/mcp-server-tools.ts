import { flagEnabled } from '../settings/index.ts';
import { companyMcpTools } from '../mcp-servers/index.ts';
import type { Tool, ToolProvider } from './provider.ts';

/** A tool of an external server, and how to reach it. */
export interface McpTool extends Tool {
  server_id: string;
  /** The server's own name for it. */
  remote_name: string;
}

/** Tools of the company's external MCP servers. Calls are made by a scheduler, which adds `prepare`. */
export const mcpServerTools: Pick<ToolProvider, 'name' | 'list'> = {
  name: 'mcp-servers',
  async list(tx, company_id) {
    if (!(await flagEnabled(tx, 'mcp'))) return [];
    const tools = await companyMcpTools(tx, company_id);
    return tools.map(
      ({ server_id, namespace, agents, name, called, description, input_schema, read_only }): McpTool => ({
        namespace,
        name: called,
        doc: description,
        input_schema,
        role: 'member',
        permission: 'federation.call',
        ...(agents && { agents }),
        read_only,
        server_id,
        remote_name: name,
      }),
    );
  },
};
