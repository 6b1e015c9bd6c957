import { discardBody, JoinedBytes, JsonDepth, MAX_JSON_DEPTH } from '@acp/kernel';

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
  const whole = new JsonDepth();
  const events = new EventDepth();
  let bytes = 0;
  return new TransformStream({
    transform(chunk: Uint8Array, controller) {
      bytes += chunk.byteLength;
      if (bytes > max_bytes) refuse(`its answer is longer than ${max_bytes} bytes`);
      const depth = streams ? events.read(chunk) : whole.read(chunk);
      if (events.lines > max_messages * MOST_LINES) refuse('its answer has too many messages');
      if (depth > MAX_JSON_DEPTH) refuse('its answer is nested too deeply');
      controller.enqueue(chunk);
    },
  });
}

const DATA = /^data(?::|$)/;

/** Measures the data of an event stream: brackets in the rest of it, which no one parses, must not make up for those. */
class EventDepth {
  /** Those that have ended; a two-byte end counts twice. */
  lines = 0;
  readonly #depth = new JsonDepth();
  readonly #line = new JoinedBytes();

  /** @returns the maximum depth within the lines that end in this chunk */
  read(chunk: Uint8Array): number {
    let greatest = 0;
    let begin = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (!LINE_ENDS.includes(chunk[at]!)) continue;
      greatest = Math.max(greatest, this.#take(this.#line.takeWith(chunk.subarray(begin, at))));
      begin = at + 1;
    }
    this.#line.add(chunk.subarray(begin));
    return greatest;
  }

  #take(line: Buffer): number {
    this.lines += 1;
    // The mark of the byte order may precede the first one.
    const field = line.subarray(0, 8).toString();
    if (!DATA.test(this.lines === 1 ? field.replace('\uFEFF', '') : field)) return 0;
    return this.#depth.read(Buffer.concat([line, Buffer.from('\n')]));
  }
}
