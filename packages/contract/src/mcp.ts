/** The Model Context Protocol's endpoint (specification, MCP and agent-to-agent federation). */
import { Type } from 'typebox';
import { endpoint } from './endpoint.ts';
import { mcpToolsetNames } from './mcp-toolsets.ts';

export const mcpEndpoints = {
  call: endpoint({
    id: 'mcp.call',
    method: 'POST',
    path: '/mcp/{companyId}',
    // No session: a page on another site could exploit its cookie.
    auth: ['agent', 'board_user'],
    role: 'none',
    scope: { by: 'company', param: 'companyId' },
    query: Type.Object({
      toolsets: Type.Optional(
        Type.String({
          maxLength: 200,
          description: `Only these tools, by comma: ${mcpToolsetNames.join(', ')}. Default: all.`,
        }),
      ),
      read_only: Type.Optional(Type.Boolean({ description: 'Only tools that change nothing.' })),
    }),
    body: Type.Unknown(),
    body_optional: true,
    response: Type.Unknown(),
    status: 200,
    also: [202, 400, 404],
    tx: 'none',
    streams: true,
    errors: 'json_rpc',
    feature: 'mcp',
    // The tools called apply their own rules: reading needs no license.
    while_read_only: true,
    example: { jsonrpc: '2.0', id: 1, method: 'ping' },
    doc: 'The Model Context Protocol, one JSON-RPC message per request: the tools, resources and prompts of the company. Both eras, 2024-11-05 to 2025-11-25 and 2026-07-28.',
  }),
};
