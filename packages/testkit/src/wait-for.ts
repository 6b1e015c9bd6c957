import { setTimeout as delay } from 'node:timers/promises';

export interface WaitForOptions {
  timeout_ms?: number;
  interval_ms?: number;
  /** Names what is waited for in the error message. */
  what?: string;
}

type Falsy = false | null | undefined | 0 | '';

function isTruthy<T>(value: T): value is Exclude<T, Falsy> {
  return Boolean(value);
}

/**
 * Resolves with the first truthy value of `probe`. A probe that throws is retried; its last error becomes the cause of
 * the one thrown at the deadline (default 60 s: a busy machine is not a failure).
 */
export async function waitFor<T>(
  probe: () => T | Promise<T>,
  options: WaitForOptions = {},
): Promise<Exclude<T, Falsy>> {
  const timeoutMs = options.timeout_ms ?? 60_000;
  const begin = performance.now();
  const deadline = begin + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (isTruthy(value)) return value;
      cause = undefined;
    } catch (err) {
      cause = err;
    }
    if (performance.now() >= deadline) {
      const last = cause instanceof Error ? `: ${cause.message}` : '';
      throw new Error(`waited ${timeoutMs} ms in vain for ${options.what ?? String(probe)}${last}`, {
        cause,
      });
    }
    // Most probes are a statement or a request: long waits poll less often and notice at most a twentieth later.
    await delay(options.interval_ms ?? Math.min(Math.max(20, (performance.now() - begin) / 20), 250));
  }
}
