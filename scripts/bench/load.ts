/** Sends requests at full speed over a number of connections. */
import autocannon from 'autocannon';

export const CONNECTIONS = 10;

export interface LoadRequest {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  body?: string;
  /** Added to the load's own headers, or replacing them. */
  headers?: Record<string, string>;
}

/**
 * Requests per second. Each connection cycles through the requests, with starting points spread over the list. Throws if a
 * response is not a success: a fast refusal is not a figure.
 */
export async function load(
  url: string,
  key: string,
  requests: readonly LoadRequest[],
  seconds: number,
  connections = CONNECTIONS,
): Promise<number> {
  const withBody = requests.some(({ body }) => body !== undefined);
  const own = requests.map((request) => ({ ...request }));
  let begins = 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(withBody ? { 'content-type': 'application/json' } : {}),
    },
    // Copies, because autocannon writes the headers into them.
    requests: own,
    setupClient(client) {
      const first = Math.floor((begins * requests.length) / connections) % requests.length;
      begins += 1;
      client.setRequests([...own.slice(first), ...own.slice(0, first)]);
    },
  });
  if (result.non2xx + result.errors + result.timeouts > 0 || result.requests.total === 0)
    throw new Error(`${requests[0]?.path}: ${result.non2xx} refusals, ${result.errors} errors at ${url}`);
  return result.requests.total / result.duration;
}
