/** A company's external MCP servers (decisions 10.14); its agents call their tools as `server__tool`. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Nullable, OneOf, PageQuery, Patch, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';
import { SECRET_NAME } from './secrets.ts';

/** `unlisted`: its tools have not been listed since it was created, changed or enabled. */
export const mcpServerStatuses = ['unlisted', 'healthy', 'failing'] as const;

const ToolNames = Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: '^[^\\u0000]+$' }), {
  maxItems: 500,
  uniqueItems: true,
});

/** An agent with access to the server's tools; `tools` narrows the server's own list for it. */
const AgentAccess = Type.Object({
  agent_id: Uuid,
  tools: Type.Optional(Nullable(ToolNames)),
});
export type McpAgentAccess = Static<typeof AgentAccess>;

const Texts = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
});

export const McpServer = Type.Object({
  id: Uuid,
  company_id: Uuid,
  /** Prefix of its tools: `name__tool`. */
  name: Type.String(),
  /** Null: it is a program. */
  url: Nullable(Type.String()),
  /** As entered: secrets are referenced by name. */
  headers: Texts,
  /** The operator's name for a program that runs in the plugin sandbox; null: accessed over HTTP. */
  command: Nullable(Type.String()),
  /** The program's environment variables as entered: secrets are referenced by name. */
  env: Texts,
  /** Allow-list of tools; null: all. */
  tools: Nullable(Type.Array(Type.String())),
  /** Agents with access; null: all of the company. */
  agents: Nullable(Type.Array(Type.Object({ agent_id: Uuid, tools: Nullable(Type.Array(Type.String())) }))),
  enabled: Type.Boolean(),
  timeout_seconds: Type.Integer(),
  refresh_interval_seconds: Type.Integer(),
  status: OneOf(mcpServerStatuses),
  /** Number of tools it offers, allowed or not. */
  tool_count: Type.Integer(),
  /** The negotiated protocol version. */
  protocol_version: Nullable(Type.String()),
  /** The server's own name and version. */
  server_info: Nullable(Type.String()),
  last_listed_at: Nullable(Timestamp),
  /** Error of the last listing; null if it succeeded. */
  last_error: Nullable(Type.String()),
  failing_since: Nullable(Timestamp),
  call_count: Type.Integer(),
  failed_call_count: Type.Integer(),
  last_called_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type McpServer = Static<typeof McpServer>;

/** A program that the operator offers to companies as an MCP server. */
export const McpCommandOffer = Type.Object({
  name: Type.String(),
  description: Nullable(Type.String()),
  /** The environment variables that may be set for it. */
  env: Type.Array(Type.String()),
});
export type McpCommandOffer = Static<typeof McpCommandOffer>;

/** A tool offered by the server. */
export const McpServerTool = Type.Object({
  /** The server's name for it. */
  name: Type.String(),
  /** The agents' name for it: `server__tool`. */
  called: Type.String(),
  description: Type.String(),
  input_schema: JsonObject,
  read_only: Type.Boolean(),
  /** On the server's list of allowed tools. */
  allowed: Type.Boolean(),
  /** Further tools of the server (its own names) that would have the same name, and therefore can't be called. */
  left_out: Type.Array(Type.String()),
  /** A plugin of the company has a tool of this name, which callers reach instead of this one. */
  taken: Type.Boolean(),
});
export type McpServerTool = Static<typeof McpServerTool>;

export const TryMcpTool = Type.Object({
  /** The server's name for it. */
  tool: Type.String({ minLength: 1, maxLength: 128 }),
  input: Type.Optional(JsonObject),
});
export const TriedMcpTool = Type.Object({ answer: Type.Unknown() });

/** A call of one of its tools. */
export const McpServerCall = Type.Object({
  id: Uuid,
  server_id: Uuid,
  tool: Type.String(),
  actor_type: Type.String(),
  actor_id: Nullable(Uuid),
  actor_name: Type.String(),
  ok: Type.Boolean(),
  error: Nullable(Type.String()),
  duration_ms: Type.Integer(),
  created_at: Timestamp,
});
export type McpServerCall = Static<typeof McpServerCall>;

/** Characters that every client accepts, without the separator itself. */
const name = Type.String({ maxLength: 32, pattern: '^[a-z0-9]+([_-][a-z0-9]+)*$' });
const url = Type.String({ minLength: 1, maxLength: 2000 });
/** Each value names a secret: header values of such a server are credentials. */
const headers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 20,
  propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$" },
  additionalProperties: {
    type: 'string',
    maxLength: 2000,
    pattern: `^[\\u0020-\\u007e]*\\$\\{secret:${SECRET_NAME}\\}[\\u0020-\\u007e]*$`,
  },
});

const command = Type.String({ minLength: 1, maxLength: 32 });
const env = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 50,
  propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' },
  additionalProperties: { type: 'string', maxLength: 2000, pattern: '^[^\\u0000-\\u001f]*$' },
});

const settable = {
  url,
  headers,
  command,
  env,
  tools: Nullable(ToolNames),
  agents: Nullable(Type.Array(AgentAccess, { maxItems: 200 })),
  enabled: Type.Boolean(),
  timeout_seconds: Type.Integer({ minimum: 1, maximum: 120 }),
  refresh_interval_seconds: Type.Integer({ minimum: 60, maximum: 86_400 }),
};

export const CreateMcpServer = Type.Object({ name, ...Patch(settable).properties });
export type CreateMcpServer = Static<typeof CreateMcpServer>;
export const UpdateMcpServer = Patch({ name, ...settable });
export type UpdateMcpServer = Static<typeof UpdateMcpServer>;

const common = { auth: BEARER, role: 'admin', feature: 'mcp' } as const;
const ofCompany = {
  ...common,
  path: '/api/companies/{companyId}/mcp-servers',
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  ...common,
  path: '/api/mcp-servers/{serverId}',
  scope: { by: 'mcp_server', param: 'serverId' },
} as const;

export const mcpServerEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'mcp-servers.list',
    method: 'GET',
    query: Type.Object(SearchQuery),
    response: Type.Array(McpServer),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'External MCP servers of the company, newest first, with their health; without secret values.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'mcp-servers.create',
    method: 'POST',
    body: CreateMcpServer,
    response: McpServer,
    status: 201,
    tx: 'write',
    example: {
      name: 'tracker',
      url: 'https://mcp.example.com/mcp',
      headers: { Authorization: 'Bearer ${secret:TRACKER_TOKEN}' },
      tools: ['search_tickets'],
    },
    doc: 'Registers a server: with `url` one that speaks streamable HTTP, with `command` a program offered by the operator. Its tools are listed within seconds. Each header references a secret: `Bearer ${secret:NAME}`. 409 if the name is taken, 400 for a forbidden URL or a command that is not offered.',
  }),
  listCommands: endpoint({
    ...ofCompany,
    path: '/api/companies/{companyId}/mcp-commands',
    id: 'mcp-servers.list-commands',
    method: 'GET',
    response: Type.Array(McpCommandOffer),
    status: 200,
    tx: 'none',
    doc: 'The programs that the operator offers as MCP servers.',
  }),
  get: endpoint({
    ...one,
    id: 'mcp-servers.get',
    method: 'GET',
    response: McpServer,
    status: 200,
    tx: 'none',
    doc: 'The server, with its health.',
  }),
  update: endpoint({
    ...one,
    id: 'mcp-servers.update',
    method: 'PATCH',
    body: UpdateMcpServer,
    response: McpServer,
    status: 200,
    tx: 'write',
    example: { tools: null, enabled: true },
    doc: 'Changes a server; `tools`, `agents`, `headers` and `env` are replaced as a whole. With another URL, command, headers or variables its tools are listed again. An HTTP server can’t become a program, or vice versa.',
  }),
  delete: endpoint({
    ...one,
    id: 'mcp-servers.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes a server permanently, with the record of its calls.',
  }),
  refresh: endpoint({
    ...one,
    path: '/api/mcp-servers/{serverId}/refresh',
    id: 'mcp-servers.refresh',
    method: 'POST',
    response: McpServer,
    status: 200,
    tx: 'none',
    doc: 'Tests the server: connects, lists its tools again, and returns its state. 409 while it is disabled.',
  }),
  listTools: endpoint({
    ...one,
    path: '/api/mcp-servers/{serverId}/tools',
    id: 'mcp-servers.list-tools',
    method: 'GET',
    response: Type.Array(McpServerTool),
    status: 200,
    tx: 'none',
    doc: 'Its tools as of the last listing.',
  }),
  callTool: endpoint({
    ...one,
    path: '/api/mcp-servers/{serverId}/tools/call',
    id: 'mcp-servers.call-tool',
    method: 'POST',
    body: TryMcpTool,
    response: TriedMcpTool,
    status: 200,
    tx: 'none',
    example: { tool: 'search_tickets', input: { q: 'crash' } },
    doc: 'Calls one of its tools as a run would. The response is what an agent would see; 409 with the tool’s message if it refuses.',
  }),
  listCalls: endpoint({
    ...one,
    path: '/api/mcp-servers/{serverId}/calls',
    id: 'mcp-servers.list-calls',
    method: 'GET',
    query: Type.Object(PageQuery),
    response: Type.Array(McpServerCall),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Calls of its tools, newest first; kept as long as events.',
  }),
};
