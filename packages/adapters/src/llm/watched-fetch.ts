import { AdapterError } from '../adapter-error.ts';
import { boundedBody } from './bounded-body.ts';
import type { CallWatch } from './call-watch.ts';
import { failureOf, readErrorBody } from './failure.ts';

const mostErrorBytes = 16 * 1024;

interface WatchedFetchOptions {
  /** Requests go nowhere else: a key is only sent to its provider (decisions 7.33). */
  base_url: string;
  watch: CallWatch;
  fetch: typeof fetch;
  /** Whether the response must be an event stream. */
  stream: boolean;
}

function urlOf(input: Parameters<typeof fetch>[0]): URL {
  return new URL(input instanceof Request ? input.url : input);
}

/**
 * The fetch passed to the model library for one call. It stays on the provider's origin, follows no redirects, applies the
 * watch's timers to headers and body, and translates rejections into our errors.
 */
export function watchedFetch(options: WatchedFetchOptions): typeof fetch {
  const { watch, stream } = options;
  const origin = new URL(options.base_url).origin;
  return async (input, init) => {
    const url = urlOf(input);
    if (url.origin !== origin)
      throw new AdapterError('config', `refused to call ${url.origin}: not the provider's base URL`);
    const sent = options.fetch(input, { ...init, redirect: 'manual', signal: watch.signal });
    const response = await watch.bytes(sent);
    if (!response.ok) throw await refusal(response, watch);
    if (stream) await requireEventStream(response, watch);
    if (response.body === null) throw new AdapterError('transient', 'the provider sent an empty answer');
    const { status, statusText } = response;
    return new Response(watchedBody(response.body, watch, stream), {
      status,
      statusText,
      headers: [...response.headers],
    });
  };
}

async function refusal(response: Response, watch: CallWatch): Promise<AdapterError> {
  const { status, headers } = response;
  const text = await readStart(response, watch);
  if (status >= 300 && status < 400) {
    return new AdapterError(
      'config',
      `the endpoint redirects (${status}): set the base URL to where it leads`,
      { status },
    );
  }
  const said = readErrorBody(text) ?? { message: response.statusText, code: '' };
  return failureOf({
    status,
    headers,
    message: said.message,
    code: `${said.code} ${headers.get('x-amzn-errortype') ?? ''}`,
  });
}

// Some gateways respond with 200 and an error, or with a web page if the path is wrong.
async function requireEventStream(response: Response, watch: CallWatch): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (!/^(?:application\/json|text\/html)\b/i.test(type)) return;
  const said = readErrorBody(await readStart(response, watch));
  const code = Number(said?.code.split(' ')[0]);
  if (said !== null && code >= 400 && code < 600)
    throw failureOf({ ...said, status: code, headers: response.headers });
  const words = said === null || said.message === '' ? '' : `: ${said.message}`;
  throw new AdapterError(
    'config',
    `the endpoint answered ${type.split(';')[0]} in place of an event stream${words}`,
  );
}

/** The start of a body as text; the rest is dropped along with the connection. */
async function readStart(response: Response, watch: CallWatch): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size < mostErrorBytes) {
    const { done, value } = await watch.bytes(reader.read());
    if (done) break;
    chunks.push(value);
    size += value.length;
  }
  if (size >= mostErrorBytes) await reader.cancel();
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function watchedBody(
  body: ReadableStream<Uint8Array>,
  watch: CallWatch,
  stream: boolean,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const next = boundedBody(async () => (await watch.bytes(reader.read())).value, stream);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await next();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read ahead of the library, so waiting for bytes always means that the library is waiting.
    { highWaterMark: 0 },
  );
}
