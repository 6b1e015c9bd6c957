import { conflict, exchange, ExchangeFailure, invalid, unavailable } from '@acp/kernel';

/** Maximum size of an answer, in bytes. */
const LONGEST_ANSWER = 2_000_000;

interface Asked {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  timeout_sec: number;
}

/**
 * Fetches JSON from elsewhere, within limits to the size of the answer and the time that it may take. Whatever secret is sent along
 * is in none of its texts.
 * @throws ServiceError that says what was wrong, but never what a name resolved to; conflict if it will be no better next time
 */
export async function fetchJson(
  send: typeof fetch,
  url: string,
  { method, headers, body, timeout_sec }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const request = {
    method,
    headers: { accept: 'application/json', ...headers },
    ...(body !== undefined && { body }),
  };
  const limits = { signal, time_ms: timeout_sec * 1000, most_bytes: LONGEST_ANSWER };
  try {
    const answer = await exchange(send, url, request, limits);
    if (answer.status === 413) throw conflict('it answered 413: this is longer than it takes');
    if (!answer.ok && !isRpcError(answer.text)) throw unavailable(`it answered ${answer.status}`);
    return answer.json();
  } catch (error) {
    if (!(error instanceof ExchangeFailure)) throw error;
    throw error.kind === 'malformed' ? invalid(error.message) : unavailable(error.message, error);
  }
}

/** Some peers send the protocol's errors with an HTTP error status. */
const isRpcError = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');
