import { discardBody, JsonDepth, MAX_JSON_DEPTH } from '@acp/kernel';

/** A server's violation that ends its connection. The message is written for people and agents. */
export class ServerFault extends Error {}

interface FetchBounds {
  /** Maximum size of one answer, streams included. */
  max_bytes: number;
  /** Maximum number of messages in a stream: each costs its reader more than its bytes. */
  max_messages: number;
  /** Maximum number of concurrent requests: a server can ask its client for answers, each of which is a request. */
  max_requests: number;
  /** Any exchange is aborted after this time. */
  max_ms: number;
}

const NO_BODY = new Set([204, 205, 304]);

/**
 * What an MCP client may send and read over `send`: no long-lived streams, no redirects (no one has allowed their
 * targets), answers limited in size, depth and time. @param onFault is called immediately, since a stream that is cut off
 * does not notify those waiting for its end.
 */
export function boundedFetch(
  send: typeof fetch,
  { max_requests, max_ms, ...bounds }: FetchBounds,
  onFault: (fault: ServerFault) => void,
): typeof fetch {
  let open = 0;
  const refuse = (message: string): never => {
    const fault = new ServerFault(message);
    onFault(fault);
    throw fault;
  };
  return async (input, init = {}) => {
    // The server's notifications arrive in the answers to calls.
    if (init.method === 'GET') return new Response(null, { status: 405 });
    if (open >= max_requests) refuse('it sends its client too many requests');
    open += 1;
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(max_ms), ...(init.signal ? [init.signal] : [])]);
      const response = await send(input, { ...init, signal, redirect: 'manual' });
      const { status, headers, body } = response;
      if (status >= 300 && status < 400 && status !== 304) {
        await discardBody(response);
        refuse('it redirects, and redirects are not followed');
      }
      const text =
        body === null || NO_BODY.has(status)
          ? null
          : body.pipeThrough(bounded(bounds, isStream(headers), refuse));
      return new Response(text, { status, headers: [...headers] });
    } finally {
      open -= 1;
    }
  };
}

const isStream = (headers: Headers): boolean =>
  headers.get('content-type')?.toLowerCase().includes('text/event-stream') ?? false;

const LINE_ENDS = [0x0a, 0x0d];
/** Maximum number of lines per message: its data, its name, an empty line. */
const MOST_LINES = 4;

/** Passes bytes on until they or their messages exceed a limit, or their JSON is nested too deeply to be walked. */
function bounded(
  { max_bytes, max_messages }: Pick<FetchBounds, 'max_bytes' | 'max_messages'>,
  streams: boolean,
  refuse: (message: string) => never,
): TransformStream<Uint8Array, Uint8Array> {
  const depth = new JsonDepth();
  let bytes = 0;
  let lines = 0;
  return new TransformStream({
    transform(chunk: Uint8Array, controller) {
      bytes += chunk.byteLength;
      if (streams) lines += lineEnds(chunk);
      if (lines > max_messages * MOST_LINES) refuse('its answer has too many messages');
      if (bytes > max_bytes) refuse(`its answer is longer than ${max_bytes} bytes`);
      if (depth.read(chunk) > MAX_JSON_DEPTH) refuse('its answer is nested too deeply');
      controller.enqueue(chunk);
    },
  });
}

/** Counts line ends; a two-byte one counts twice. */
function lineEnds(chunk: Uint8Array): number {
  let count = 0;
  for (const byte of chunk) if (LINE_ENDS.includes(byte)) count += 1;
  return count;
}
