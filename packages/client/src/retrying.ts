export interface RetryOptions {
  /** How often a call is retried after a lost connection, 429, 502, 503 or 504. Default 3. */
  retries?: number;
  /** Maximum wait before a retry in milliseconds, whatever the service asks for. Default 30,000. */
  max_wait_ms?: number;
}

const FIRST_WAIT_MS = 250;
const passing = new Set([429, 502, 503, 504]);
/** Sent before anything was done. */
const refused = new Set([429, 503]);

/**
 * @param repeatable sending it again is harmless even if the first attempt arrived
 * @returns the last answer, and whether an earlier attempt may have taken effect
 */
export async function retrying(
  send: () => Promise<Response>,
  repeatable: boolean,
  { retries = 3, max_wait_ms = 30_000 }: RetryOptions,
  signal?: AbortSignal,
): Promise<{ response: Response; isRepeat: boolean }> {
  let isRepeat = false;
  for (let attempt = 0; ; attempt += 1) {
    let response: Response | undefined;
    try {
      response = await send();
      const again = repeatable ? passing.has(response.status) : refused.has(response.status);
      if (!again || attempt >= retries) return { response, isRepeat };
    } catch (error) {
      if (!repeatable || attempt >= retries || signal?.aborted) throw error;
    }
    isRepeat ||= response === undefined || !refused.has(response.status);
    const asked = askedMs(response?.headers.get('retry-after') ?? '');
    const own = FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random());
    // Its connection may be lost by now, which changes nothing.
    await response?.body?.cancel().catch(() => undefined);
    await pause(Math.min(asked > 0 ? asked : own, max_wait_ms), signal);
  }
}

/** `Retry-After` has seconds or, from proxies, a date. NaN: neither. */
const askedMs = (text: string): number =>
  /^\d+$/.test(text) ? Number(text) * 1000 : new Date(text).getTime() - Date.now();

/** Rejects with the signal's reason if aborted in the meantime. */
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
