import { JsonDepth, MAX_JSON_DEPTH } from '@acp/kernel';

/** What a server did that no call of it may do. Its message is for people and agents. */
export class ServerFault extends Error {}

export interface FetchBounds {
  /** Of one answer, streams included. */
  max_bytes: number;
  /** Messages of a stream: each costs its reader more than its bytes. */
  max_messages: number;
  /** At the same time: a server can ask its client for answers, each of which is a request. */
  max_requests: number;
  /** After so long any exchange is broken off. */
  max_ms: number;
}

const NO_BODY = new Set([204, 205, 304]);

/**
 * What a client of MCP may send and read over `send`: no lasting streams, no redirects (where they lead nobody has
 * allowed), answers of bounded size, depth and time. @param onFault is told at once, for a stream that is cut off says
 * nothing to whoever waits for its end.
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
    // What a server has to tell it tells in the answers of calls.
    if (init.method === 'GET') return new Response(null, { status: 405 });
    if (open >= max_requests) refuse('it asks too much of its client');
    open += 1;
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(max_ms), ...(init.signal ? [init.signal] : [])]);
      const response = await send(input, { ...init, signal, redirect: 'manual' });
      const { status, headers, body } = response;
      if (status >= 300 && status < 400 && status !== 304) {
        await body?.cancel();
        refuse('it redirects, which is not followed');
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
/** Of a message: its data, its name, an empty line. */
const MOST_LINES = 4;

/** Passes bytes on until they or their messages are too many, or JSON in them is nested too deeply to be walked. */
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

/** Both bytes of a line's end that has two. */
function lineEnds(chunk: Uint8Array): number {
  let count = 0;
  for (const byte of chunk) if (LINE_ENDS.includes(byte)) count += 1;
  return count;
}
