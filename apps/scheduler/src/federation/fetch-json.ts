import {
  boundedText,
  connectionFailure,
  invalid,
  isNestedDeeper,
  MAX_JSON_DEPTH,
  ServiceError,
  unavailable,
} from '@acp/kernel';

/** Maximum size of an answer, in bytes. */
const LONGEST_ANSWER = 2_000_000;
/** Maximum length of an error's text taken from an answer, in characters. */
const LONGEST_REASON = 300;

interface Asked {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  timeout_sec: number;
}

/**
 * Fetches JSON from elsewhere. Follows no redirect, since a key is sent along; limits the size of the answer and the time
 * that it may take.
 * @throws ServiceError that says what was wrong, but never what a name resolved to
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

/** Some peers send the protocol's errors with an HTTP error status. */
const isRpcError = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');

function parsed(text: string): unknown {
  if (isNestedDeeper(text, MAX_JSON_DEPTH)) throw invalid('its answer is nested too deeply');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid(`its answer is not JSON: ${JSON.stringify(text.slice(0, LONGEST_REASON))}`);
  }
}
