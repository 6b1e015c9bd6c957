import { MAX_JSON_DEPTH } from '@acp/kernel';

/** What a server did that no call of it may do. Its message is for people and agents. */
export class ServerFault extends Error {}

export interface FetchBounds {
  /** Of one answer, streams included. */
  max_bytes: number;
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
  { max_bytes, max_requests, max_ms }: FetchBounds,
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
      const text = body === null || NO_BODY.has(status) ? null : body.pipeThrough(bounded(max_bytes, refuse));
      return new Response(text, { status, headers: [...headers] });
    } finally {
      open -= 1;
    }
  };
}

/** Passes bytes on until they are too many, or JSON in them is nested too deeply to be walked. */
function bounded(
  max_bytes: number,
  refuse: (message: string) => never,
): TransformStream<Uint8Array, Uint8Array> {
  const depth = new DepthGauge();
  let bytes = 0;
  return new TransformStream({
    transform(chunk: Uint8Array, controller) {
      bytes += chunk.byteLength;
      if (bytes > max_bytes) refuse(`its answer is longer than ${max_bytes} bytes`);
      if (depth.read(chunk) > MAX_JSON_DEPTH) refuse('its answer is nested too deeply');
      controller.enqueue(chunk);
    },
  });
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_ENDS = new Set([0x0a, 0x0d]);
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);

/**
 * How deep JSON is nested, told from its bytes before anybody parses it. Valid JSON has no end of a line within a text, so
 * each line begins outside of one: in event streams, where lines are messages, nothing carries over.
 */
class DepthGauge {
  #depth = 0;
  #inText = false;
  #escaped = false;

  /** @returns the greatest depth within the chunk */
  read(chunk: Uint8Array): number {
    let greatest = this.#depth;
    for (const byte of chunk) {
      if (LINE_ENDS.has(byte)) this.#inText = this.#escaped = false;
      else if (this.#inText) this.#readInText(byte);
      else if (byte === QUOTE) this.#inText = true;
      else if (OPENING.has(byte)) greatest = Math.max(greatest, ++this.#depth);
      else if (CLOSING.has(byte)) this.#depth = Math.max(0, this.#depth - 1);
    }
    return greatest;
  }

  #readInText(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inText = false;
  }
}
