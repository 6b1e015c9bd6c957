import {
  boundedText,
  connectionFailure,
  invalid,
  isNestedDeeper,
  MAX_JSON_DEPTH,
  ServiceError,
  unavailable,
} from '@acp/kernel';

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
    const text = await boundedText(response, LONGEST_ANSWER, () => invalid('its answer is too large'));
    if (!response.ok && !isRpcError(text)) throw unavailable(`it answered ${response.status}`);
    return parsed(text);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (signal.aborted) throw error;
    throw unavailable(tooLong.aborted ? `no answer in ${timeout_sec} s` : connectionFailure(error), error);
  }
}

/** Some answer errors of the protocol with a status of HTTP. */
const isRpcError = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');

function parsed(text: string): unknown {
  if (isNestedDeeper(text, MAX_JSON_DEPTH)) throw invalid('its answer is nested too deeply');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid(`its answer is no JSON: ${JSON.stringify(text.slice(0, LONGEST_REASON))}`);
  }
}
