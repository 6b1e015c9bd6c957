/** Stand-ins for external MCP servers: a decent one from the official library, and one that does as each test says. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

/** Keeps sessions, requires the token, and can lose both. */
export async function startTracker(token: () => string) {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const journal: { method: string; session: string | undefined; authorization: string | undefined }[] = [];
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await trackerOf().connect(transport);
    return transport;
  };
  const server = await serve((request, response) => {
    const session = request.headers['mcp-session-id']?.toString();
    const { authorization } = request.headers;
    journal.push({ method: request.method ?? '', session, authorization });
    if (authorization !== `Bearer ${token()}`) return void response.writeHead(401).end();
    const known = session === undefined ? undefined : sessions.get(session);
    if (session !== undefined && known === undefined) return void response.writeHead(404).end();
    void (known === undefined ? open() : Promise.resolve(known)).then((transport) =>
      transport.handleRequest(request, response),
    );
  });
  return { ...server, journal, clearSessions: () => sessions.clear() };
}

const nothing = { type: 'object' as const };
const trackerTools = [
  {
    name: 'search.tickets',
    description: 'Finds tickets.',
    inputSchema: { ...nothing, properties: { q: { type: 'string' } }, required: ['q'] },
    outputSchema: { ...nothing, properties: { found: { type: 'array' } } },
    annotations: { readOnlyHint: true },
  },
  { name: 'count', description: 'Counts the calls of the session.', inputSchema: nothing },
  { name: 'close', description: 'Closes a ticket.', inputSchema: nothing },
  { name: 'grow', description: 'Says that there are other tools.', inputSchema: nothing },
  { name: 'whoami', description: 'Says what it was sent.', inputSchema: nothing },
];

function trackerOf(): Server {
  const about = { name: 'tracker', version: '3.1.4' };
  const server = new Server(about, { capabilities: { tools: { listChanged: true } } });
  let calls = 0;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: trackerTools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestInfo, sendNotification }) => {
    switch (params.name) {
      case 'search.tickets': {
        const structuredContent = { found: [`${String(params.arguments?.q)} <ticket>`] };
        return { ...text(JSON.stringify(structuredContent)), structuredContent };
      }
      case 'count':
        return text(`call ${(calls += 1)}`);
      case 'grow':
        await sendNotification({ method: 'notifications/tools/list_changed' });
        return text('grown');
      case 'whoami': {
        const image = { type: 'image' as const, data: 'aGVsbG8=', mimeType: 'image/png' };
        return { content: [...text(String(requestInfo?.headers.authorization)).content, image] };
      }
      default:
        return { ...text('the ticket is locked'), isError: true };
    }
  });
  return server;
}

interface Rpc {
  id?: number;
  method: string;
}
export type Misbehaviour = (message: Rpc, response: ServerResponse, request: IncomingMessage) => void;

export const json = (response: ServerResponse, body: unknown, status = 200): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(typeof body === 'string' ? body : JSON.stringify(body));

/** Behaves well except for the given method, whose response the test defines. */
export async function startRogue() {
  let on: Readonly<Record<string, Misbehaviour>> = {};
  let requests = 0;
  const server = await serve((request, response) => {
    requests += 1;
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      if (body === '') return void response.writeHead(405).end();
      const message = JSON.parse(body) as Rpc;
      const rogue = on[message.method];
      if (rogue !== undefined) return rogue(message, response, request);
      const result = decent[message.method];
      if (message.id === undefined) return void response.writeHead(202).end();
      json(
        response,
        result === undefined
          ? { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } }
          : { jsonrpc: '2.0', id: message.id, result },
      );
    });
  });
  return {
    ...server,
    requests: () => requests,
    behave(next: Readonly<Record<string, Misbehaviour>>) {
      on = next;
      requests = 0;
    },
  };
}

const decent: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'rogue', version: '0' },
  },
  'tools/list': { tools: [{ name: 'do', description: 'Does.', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};
