/** The parts of autocannon that the benchmark uses; it ships no types. */
declare module 'autocannon' {
  interface Options {
    url: string;
    connections: number;
    /** Seconds; alternatively, `amount` of requests. */
    duration?: number;
    amount?: number;
    method?: 'GET' | 'POST';
    headers?: Record<string, string>;
    body?: string;
    /** Each connection cycles through them. */
    requests?: Request[];
    /** Called for each connection before it starts. */
    setupClient?: (client: { setRequests(requests: Request[]): void }) => void;
  }
  interface Request {
    method: 'GET' | 'POST' | 'PATCH';
    path: string;
    body?: string;
    headers?: Record<string, string>;
  }
  interface Result {
    /** Actual duration in seconds. */
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
