export interface RetryOptions {
  /** How often a call is repeated that met a lost connection, 429, 502, 503 or 504; 3 unless told. */
  retries?: number;
  /** Longest wait before a repeat, in milliseconds, whatever the service asks for; 30,000 unless told. */
  max_wait_ms?: number;
}

const FIRST_WAIT_MS = 250;
const passing = new Set([429, 502, 503, 504]);
/** Told before anything was done. */
const refused = new Set([429, 503]);

/**
 * @param repeatable a second time does no harm, also where the first one may have been heard
 */
export async function retrying(
  send: () => Promise<Response>,
  repeatable: boolean,
  { retries = 3, max_wait_ms = 30_000 }: RetryOptions,
  signal?: AbortSignal,
): Promise<Response> {
  for (let attempt = 0; ; attempt += 1) {
    let response: Response | undefined;
    try {
      response = await send();
      const again = repeatable ? passing.has(response.status) : refused.has(response.status);
      if (!again || attempt >= retries) return response;
    } catch (error) {
      if (!repeatable || attempt >= retries || signal?.aborted) throw error;
    }
    const asked = Number(response?.headers.get('retry-after')) * 1000;
    const own = FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random());
    await response?.body?.cancel();
    await pause(Math.min(asked > 0 ? asked : own, max_wait_ms), signal);
  }
}

/** Rejects with the signal's reason when it is aborted meanwhile. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
