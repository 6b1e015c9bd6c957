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

/** The timeout of an exchange, and the signal that aborts it. */
export interface McpLimits {
  timeout_ms: number;
  signal: AbortSignal;
}

const MAX_PAGES = 20;
const GOODBYE_MS = 2000;

// Much of a megabyte of code: loaded only once a company has a server.
const library = async () => import('@modelcontextprotocol/client');

/** Schemas of answers are not checked: compiling them would mean running what the server sends. */
const noValidation: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (data) => ({ valid: true, data: data as T, errorMessage: undefined }),
};

/** A connection to one server on behalf of one caller: stateful servers keep a session for it. */
export class McpConnection {
  readonly #client: Client;
  readonly #link: McpLink;
  /** The server's violation, after which the connection is closed. */
  fault: ServerFault | null = null;
  /** The server has reported a change of its tools. */
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

  /** @throws if the server does not answer at all */
  async ping({ timeout_ms, signal }: McpLimits): Promise<void> {
    await this.#client.ping({ timeout: timeout_ms, maxTotalTimeout: timeout_ms, signal });
  }

  /** Ends the connection; pending calls fail with the fault. */
  fail(fault: ServerFault): void {
    this.fault ??= fault;
    // The connection is broken anyway, so an error while closing it says nothing new.
    this.close().catch(() => undefined);
  }

  /** Also ends the server's session, provided the server answers in time. */
  async close(): Promise<void> {
    const goodbye = this.fault === null ? this.#link.goodbye?.() : undefined;
    try {
      if (goodbye !== undefined) await Promise.race([goodbye, pause(GOODBYE_MS, null, { ref: false })]);
    } catch {
      // A session that can't be ended expires at the server.
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
