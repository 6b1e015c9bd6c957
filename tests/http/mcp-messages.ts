/** Handwritten messages of the Model Context Protocol tests, and the parts of the responses they read. */

/** Results of all methods: each fills its part. */
export interface Result {
  content: { text: string }[];
  isError?: true;
  structuredContent: { id: string; identifier: string; items: unknown[] };
  tools: { name: string }[];
  resources: { uri: string }[];
  nextCursor?: string;
  contents: { text: string }[];
  completion: { values: string[] };
}

export interface Answer {
  status: number;
  headers: Headers;
  body: {
    id?: unknown;
    result?: Result;
    error?: { code: number; message: string; data?: Record<string, unknown> };
  };
}

export const rpc = (method: string, params: object = {}, id: string | number = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

/** A request of the stateless era: its metadata is in `_meta` and headers. */
export const stateless = (method: string, params: object = {}) => ({
  body: rpc(method, {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }),
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method } as Record<string, string>,
});
