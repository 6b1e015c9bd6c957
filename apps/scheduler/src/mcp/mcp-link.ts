import type { StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client';
import { boundedFetch, type ServerFault } from './bounded-fetch.ts';

/** The way to a server. */
export interface McpLink {
  transport: Transport;
  /** Whether it may be asked for its era, or begins with `initialize`. */
  era: 'auto' | 'legacy';
  /** Ends the server's session, where there is one. */
  goodbye?(): Promise<void>;
}

/** Opens a link; what the server does wrong afterwards is told by `fail`. */
export type OpenLink = (fail: (fault: ServerFault) => void) => Promise<McpLink>;

/** Where a server is, with its secrets. */
export interface McpTarget {
  url: string;
  /** Guarded, and held to the company's list. */
  send: typeof fetch;
  headers: Record<string, string>;
  /** As it was agreed on before; spares a server of the older era the question for its era. */
  protocol_version: string | null;
}

const MAX_BYTES = 4_000_000;
const MAX_MESSAGES = 2000;
const MAX_REQUESTS = 16;
/** A call of two minutes, and what the client does around it. */
const MAX_EXCHANGE_MS = 130_000;
/** First version of the era without sessions. */
const STATELESS_SINCE = '2026-07-28';

/** By streamable HTTP, within bounds. */
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
