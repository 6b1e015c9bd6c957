import type { hostServices } from '@acp/contract';
import { discardBody, EgressError, invalid, JoinedBytes, unavailable } from '@acp/kernel';
import type { Static } from 'typebox';
import { messageBody } from './message-body.ts';

type Args = Static<(typeof hostServices)['http_fetch']['args']>;
type Result = Static<(typeof hostServices)['http_fetch']['result']>;

interface FetchPlace {
  /** Guarded. */
  fetch: typeof fetch;
  placeBody(bytes: Uint8Array): Promise<string>;
  signal: AbortSignal;
}

/** See specification, Limits. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
const MAX_HEADER_BYTES = 64 * 1024;
/** The only headers of a request that are passed on to another host: any other may be a key. */
const PUBLIC = ['accept', 'accept-language', 'content-type', 'user-agent'];

/** @throws invalid for a request that is not allowed, unavailable if there was no answer */
export async function httpFetch(place: FetchPlace, args: Args): Promise<Result> {
  const tooLong = AbortSignal.timeout(TIMEOUT_MS);
  const signal = AbortSignal.any([place.signal, tooLong]);
  try {
    const response = await follow(place.fetch, args, signal);
    const { bytes, truncated } = await readBody(response);
    const headers = boundedHeaders(response.headers);
    const answer = { status: response.status, headers, truncated };
    return { ...answer, ...(await messageBody(bytes, answer, async (laid) => place.placeBody(laid))) };
  } catch (err) {
    if (err instanceof EgressError) throw invalid(err.message);
    if (tooLong.aborted) throw unavailable(`no answer within ${TIMEOUT_MS / 1000} s`);
    const cause = err instanceof Error ? (err.cause ?? err) : err;
    const code = cause instanceof Error && 'code' in cause ? `: ${String(cause.code)}` : '';
    throw err instanceof TypeError || code !== '' ? unavailable(`the request failed${code}`) : err;
  }
}

/** Each redirect passes the guard; what may be a credential is not sent to another origin. */
async function follow(
  send: typeof fetch,
  { url: first, method = 'GET', headers, body }: Args,
  signal: AbortSignal,
) {
  let url = httpUrl(first);
  let request = { method, headers: new Headers(checkedHeaders(headers ?? {})), body: body ?? undefined };
  if (request.body !== undefined && (method === 'GET' || method === 'HEAD'))
    throw invalid(`a ${method} request has no body`);
  for (let redirects = 0; ; redirects += 1) {
    const response = await send(url, { ...request, redirect: 'manual', signal });
    const location = response.headers.get('location');
    if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response;
    await discardBody(response);
    if (redirects === MAX_REDIRECTS) throw invalid(`more than ${MAX_REDIRECTS} redirects`);
    const next = httpUrl(location, url);
    if (next.origin !== url.origin)
      request.headers = new Headers([...request.headers].filter(([name]) => PUBLIC.includes(name)));
    const becomesGet = response.status === 303 || (response.status < 303 && request.method === 'POST');
    if (becomesGet && request.method !== 'HEAD') {
      request = { method: 'GET', headers: request.headers, body: undefined };
      for (const name of ['content-type', 'content-length']) request.headers.delete(name);
    }
    url = next;
  }
}

function httpUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw invalid('args.url is not a URL');
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalid('args.url must be http or https');
  return url;
}

function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  try {
    void new Headers(headers);
  } catch {
    throw invalid('args.headers are malformed');
  }
  return headers;
}

async function readBody(response: Response): Promise<{ bytes: Buffer; truncated: boolean }> {
  const bytes = new JoinedBytes();
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    const room = MAX_BODY_BYTES - bytes.length;
    bytes.add(chunk.subarray(0, room));
    // Leaving the loop closes the connection.
    if (chunk.length > room) return { bytes: bytes.take(), truncated: true };
  }
  return { bytes: bytes.take(), truncated: false };
}

function boundedHeaders(headers: Headers): Record<string, string> {
  const kept: Record<string, string> = {};
  let left = MAX_HEADER_BYTES;
  for (const [name, value] of headers) if ((left -= name.length + value.length) >= 0) kept[name] = value;
  return kept;
}
