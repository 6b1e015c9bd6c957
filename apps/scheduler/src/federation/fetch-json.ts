import { EgressError, invalid, ServiceError, unavailable } from '@acp/kernel';

/** Bytes of an answer. */
const LONGEST_ANSWER = 2_000_000;
/** Of what an answer said in vain, in characters. */
const LONGEST_REASON = 300;

interface Asked {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  timeout_sec: number;
}

/**
 * JSON from elsewhere: no redirect is followed, for a key goes with it; no more is read than we can hold, for no longer
 * than was agreed.
 * @throws ServiceError that says what was wrong, never where a name led to
 */
export async function fetchJson(
  send: typeof fetch,
  url: string,
  { method, headers, body, timeout_sec }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const tooLong = AbortSignal.timeout(timeout_sec * 1000);
  try {
    const response = await send(url, {
      method,
      redirect: 'manual',
      ...(body !== undefined && { body }),
      headers: { accept: 'application/json', 'user-agent': 'agent-control-plane', ...headers },
      signal: AbortSignal.any([signal, tooLong]),
    });
    const text = await readText(response);
    if (!response.ok && !isRpcError(text)) throw unavailable(`it answered ${response.status}`);
    return parsed(text);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (signal.aborted) throw error;
    throw unavailable(tooLong.aborted ? `no answer in ${timeout_sec} s` : reasonOf(error), error);
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > LONGEST_ANSWER) throw invalid('its answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Some answer errors of the protocol with a status of HTTP. */
const isRpcError = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid(`its answer is no JSON: ${JSON.stringify(text.slice(0, LONGEST_REASON))}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof EgressError) return error.message;
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
  return code === null ? 'the connection failed' : `the connection failed: ${code}`;
}
