import type { StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client';
import { boundedFetch, type ServerFault } from './bounded-fetch.ts';

/** The transport to a server. */
export interface McpLink {
  transport: Transport;
  /** Whether the server may be asked for its era, or the connection starts with `initialize`. */
  era: 'auto' | 'legacy';
  /** Ends the server's session, if there is one. */
  goodbye?(): Promise<void>;
}

/** Opens a link; the server's later violations are reported through `fail`. */
export type OpenLink = (fail: (fault: ServerFault) => void) => Promise<McpLink>;

/** A server's address, with its secrets. */
export interface McpTarget {
  url: string;
  /** Guarded and restricted to the company's host list. */
  send: typeof fetch;
  headers: Record<string, string>;
  /** Version negotiated before; saves asking a server of the older era for its era. */
  protocol_version: string | null;
}

const MAX_BYTES = 4_000_000;
const MAX_MESSAGES = 2000;
const MAX_REQUESTS = 16;
/** A call of two minutes, plus the client's overhead. */
const MAX_EXCHANGE_MS = 130_000;
/** First version of the era without sessions. */
const STATELESS_SINCE = '2026-07-28';

/** Streamable HTTP within limits. */
export function httpLink({ url, send, headers, protocol_version }: McpTarget): OpenLink {
  return async (fail) => {
    const { StreamableHTTPClientTransport: TransportOf } = await import('@modelcontextprotocol/client');
    const bounds = {
      max_bytes: MAX_BYTES,
      max_messages: MAX_MESSAGES,
      max_requests: MAX_REQUESTS,
      max_ms: MAX_EXCHANGE_MS,
    };
    const transport: StreamableHTTPClientTransport = new TransportOf(new URL(url), {
      fetch: boundedFetch(send, bounds, fail),
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
    const goodbye = async () => {
      if (transport.sessionId !== undefined) await transport.terminateSession();
    };
    return { transport, era: isOlder ? 'legacy' : 'auto', goodbye };
  };
}
