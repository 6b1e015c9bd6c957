/** What the benchmark uses of autocannon, which brings no types. */
declare module 'autocannon' {
  interface Options {
    url: string;
    connections: number;
    /** Seconds, or `amount` of requests. */
    duration?: number;
    amount?: number;
    method?: 'GET' | 'POST';
    headers?: Record<string, string>;
    body?: string;
    /** Taken in turn by each connection. */
    requests?: Request[];
    /** Called for each connection before it begins. */
    setupClient?: (client: { setRequests(requests: Request[]): void }) => void;
  }
  interface Request {
    method: 'GET' | 'POST' | 'PATCH';
    path: string;
    body?: string;
    headers?: Record<string, string>;
  }
  interface Result {
    /** Seconds that it really took. */
    duration: number;
    requests: { total: number };
    latency: { p50: number; p99: number };
    errors: number;
    timeouts: number;
    non2xx: number;
  }
  function autocannon(options: Options): Promise<Result>;
  export = autocannon;
}
