import type { ListedMcpTool } from '@acp/core';
import { serviceVersion } from '@acp/kernel';
import type {
  CallToolResult,
  Client,
  ClientOptions,
  JsonSchemaValidator,
  StreamableHTTPClientTransport,
  Tool,
} from '@modelcontextprotocol/client';
import { setTimeout as pause } from 'node:timers/promises';
import { boundedFetch, type ServerFault } from './bounded-fetch.ts';

/** Where a server is, with its secrets. */
export interface McpTarget {
  url: string;
  headers: Record<string, string>;
  /** As it was agreed on before; spares a server of the older era the question for its era. */
  protocol_version: string | null;
}

export interface McpDescription {
  tools: readonly Tool[];
  protocol_version: string | null;
  server_info: string | null;
}

/** How long, and until when, an exchange may take. */
export interface McpLimits {
  timeout_ms: number;
  signal: AbortSignal;
}

const MAX_BYTES = 4_000_000;
const MAX_REQUESTS = 16;
const MAX_PAGES = 20;
/** A call of two minutes, and what the client does around it. */
const MAX_EXCHANGE_MS = 130_000;
/** First version of the era without sessions. */
const STATELESS_SINCE = '2026-07-28';
const GOODBYE_MS = 2000;

// A good part of a megabyte of code: loaded where a company has a server.
const library = async () => import('@modelcontextprotocol/client');

/** Schemas of answers are the server's own affair, and to compile them would be to run what it says. */
const noValidation: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (data) => ({ valid: true, data: data as T, errorMessage: undefined }),
};

/** A conversation with one server on behalf of one caller: stateful servers keep a session for it. */
export class McpConnection {
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  /** What the server did wrong; the connection is then closed. */
  fault: ServerFault | null = null;
  /** The server has said that its tools are others now. */
  toolsChanged = false;

  private constructor(client: Client, transport: StreamableHTTPClientTransport) {
    this.#client = client;
    this.#transport = transport;
  }

  static async open(
    send: typeof fetch,
    { url, headers, protocol_version }: McpTarget,
    { timeout_ms, signal }: McpLimits,
  ): Promise<McpConnection> {
    const { Client: ClientOf, StreamableHTTPClientTransport: TransportOf } = await library();
    const holder: { connection?: McpConnection } = {};
    const bounds = { max_bytes: MAX_BYTES, max_requests: MAX_REQUESTS, max_ms: MAX_EXCHANGE_MS };
    const fetchOf = boundedFetch(send, bounds, (fault) => holder.connection?.fail(fault));
    const transport = new TransportOf(new URL(url), {
      fetch: fetchOf,
      requestInit: { headers },
      redirectPolicy: 'follow',
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1000,
        maxReconnectionDelay: 1000,
        reconnectionDelayGrowFactor: 1,
      },
    });
    const isOlder = protocol_version !== null && protocol_version < STATELESS_SINCE;
    const client = new ClientOf(
      { name: 'agent-control-plane', version: serviceVersion().version },
      {
        capabilities: {},
        jsonSchemaValidator: noValidation,
        versionNegotiation: { mode: isOlder ? 'legacy' : 'auto', probe: { timeoutMs: timeout_ms } },
        inputRequired: { autoFulfill: false },
        listMaxPages: MAX_PAGES,
      },
    );
    const connection = new McpConnection(client, transport);
    holder.connection = connection;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      connection.toolsChanged = true;
    });
    try {
      await client.connect(transport, { timeout: timeout_ms, maxTotalTimeout: timeout_ms, signal });
      return connection;
    } catch (error) {
      await connection.close();
      throw connection.fault ?? error;
    }
  }

  async describe({ timeout_ms, signal }: McpLimits): Promise<McpDescription> {
    const client = this.#client;
    const limits = { timeout: timeout_ms, maxTotalTimeout: timeout_ms, signal };
    const has = client.getServerCapabilities()?.tools !== undefined;
    const { tools } = has
      ? await this.#saying(client.listTools(undefined, { ...limits, cacheMode: 'refresh' }))
      : { tools: [] };
    const info = client.getServerVersion();
    return {
      tools,
      protocol_version: client.getNegotiatedProtocolVersion() ?? null,
      server_info: info === undefined ? null : `${info.name} ${info.version}`,
    };
  }

  async call(
    { name, input_schema }: Pick<ListedMcpTool, 'name' | 'input_schema'>,
    input: Record<string, unknown>,
    { timeout_ms, signal }: McpLimits,
  ): Promise<CallToolResult> {
    const toolDefinition = { name, inputSchema: { ...input_schema, type: 'object' as const } };
    const limits = { timeout: timeout_ms, maxTotalTimeout: timeout_ms, signal, toolDefinition };
    return this.#saying(this.#client.callTool({ name, arguments: input }, limits));
  }

  /** The connection is over: who waits on it is told why. */
  fail(fault: ServerFault): void {
    this.fault ??= fault;
    // Of a connection that is broken anyway nothing more is to be learned.
    this.close().catch(() => undefined);
  }

  /** Ends the server's session too, where it answers in time. */
  async close(): Promise<void> {
    const isPolite = this.fault === null && this.#transport.sessionId !== undefined;
    try {
      if (isPolite)
        await Promise.race([this.#transport.terminateSession(), pause(GOODBYE_MS, null, { ref: false })]);
    } catch {
      // A session that can't be ended lapses at the server.
    }
    await this.#client.close();
  }

  async #saying<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw this.fault ?? error;
    }
  }
}
