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

export interface Loaded {
  /** Requests that were answered. */
  count: number;
  a_second: number;
}

/** Requests per second. */
export async function load(...args: Parameters<typeof loadFor>): Promise<number> {
  return (await loadFor(...args)).a_second;
}

/**
 * Each connection cycles through the requests, with starting points spread over the list. It may take up to a second longer
 * than asked. Throws if a response is not a success: a fast refusal is not a figure.
 */
export async function loadFor(
  url: string,
  key: string,
  requests: readonly LoadRequest[],
  seconds: number,
  connections = CONNECTIONS,
): Promise<Loaded> {
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
  const count = result.requests.total;
  return { count, a_second: count / result.duration };
}
