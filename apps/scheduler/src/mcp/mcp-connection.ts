import type { ListedMcpTool } from '@acp/core';
import { serviceVersion } from '@acp/kernel';
import type {
  CallToolResult,
  Client,
  ClientOptions,
  JsonSchemaValidator,
  Tool,
} from '@modelcontextprotocol/client';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerFault } from './bounded-fetch.ts';
import type { McpLink, OpenLink } from './mcp-link.ts';

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

const MAX_PAGES = 20;
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
  readonly #link: McpLink;
  /** What the server did wrong; the connection is then closed. */
  fault: ServerFault | null = null;
  /** The server has said that its tools are others now. */
  toolsChanged = false;

  private constructor(client: Client, link: McpLink) {
    this.#client = client;
    this.#link = link;
  }

  static async open(openLink: OpenLink, { timeout_ms, signal }: McpLimits): Promise<McpConnection> {
    const { Client: ClientOf } = await library();
    const holder: { connection?: McpConnection } = {};
    const link = await openLink((fault) => holder.connection?.fail(fault));
    const client = new ClientOf(
      { name: 'agent-control-plane', version: serviceVersion().version },
      {
        capabilities: {},
        jsonSchemaValidator: noValidation,
        versionNegotiation: { mode: link.era, probe: { timeoutMs: timeout_ms } },
        inputRequired: { autoFulfill: false },
        listMaxPages: MAX_PAGES,
      },
    );
    const connection = new McpConnection(client, link);
    holder.connection = connection;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      connection.toolsChanged = true;
    });
    try {
      await client.connect(link.transport, { timeout: timeout_ms, maxTotalTimeout: timeout_ms, signal });
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

  /** @throws where the server does not answer at all */
  async ping({ timeout_ms, signal }: McpLimits): Promise<void> {
    await this.#client.ping({ timeout: timeout_ms, maxTotalTimeout: timeout_ms, signal });
  }

  /** The connection is over: who waits on it is told why. */
  fail(fault: ServerFault): void {
    this.fault ??= fault;
    // Of a connection that is broken anyway nothing more is to be learned.
    this.close().catch(() => undefined);
  }

  /** Ends the server's session too, where it answers in time. */
  async close(): Promise<void> {
    const goodbye = this.fault === null ? this.#link.goodbye?.() : undefined;
    try {
      if (goodbye !== undefined) await Promise.race([goodbye, pause(GOODBYE_MS, null, { ref: false })]);
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
