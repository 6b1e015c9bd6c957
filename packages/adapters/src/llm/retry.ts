import type { AdapterError } from '../adapter-error.ts';

/** A longer wait than this is left to the caller, who can do something else meanwhile. */
export const longestWaitSec = 20;
const mostRetries = 2;

/** Milliseconds to wait before the next attempt; null where there is none. `attempt` counts from 1. */
export function retryDelayMs(failure: AdapterError, attempt: number, random = Math.random): number | null {
  const asked = failure.retry_after_sec;
  if (failure.category !== 'transient' || attempt > mostRetries) return null;
  if (asked !== undefined) return asked > longestWaitSec ? null : asked * 1000 + random() * 250;
  // Full spread around 0.5 s and 1 s: runs that failed together do not come back together.
  return 500 * 2 ** (attempt - 1) * (0.5 + random());
}

type HeaderSource = Pick<Headers, 'get'>;

/** Seconds until the provider wants to be asked again, by any of the headers in use; undefined without one. */
export function retryAfterSec(headers: HeaderSource, now = Date.now()): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (ms >= 0) return ms / 1000;
  return secondsOf(headers.get('retry-after'), now) ?? exhaustedResetSec(headers, now);
}

function secondsOf(value: string | null, now: number): number | undefined {
  if (value === null || value.trim() === '') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds : undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

// Without Retry-After, the vendors' own headers name the reset of each allowance: the used-up ones count.
function exhaustedResetSec(headers: HeaderSource, now: number): number | undefined {
  const waits: number[] = [];
  for (const allowance of ['requests', 'tokens', 'input-tokens', 'output-tokens']) {
    for (const prefix of ['x-ratelimit', 'anthropic-ratelimit']) {
      const [remaining, reset] =
        prefix === 'x-ratelimit'
          ? [`${prefix}-remaining-${allowance}`, `${prefix}-reset-${allowance}`]
          : [`${prefix}-${allowance}-remaining`, `${prefix}-${allowance}-reset`];
      const left = headers.get(remaining);
      const value = headers.get(reset);
      const wait =
        left !== null && Number(left) === 0 ? (durationSec(value) ?? secondsOf(value, now)) : undefined;
      if (wait !== undefined) waits.push(wait);
    }
  }
  return waits.length === 0 ? undefined : Math.max(...waits);
}

const units: Record<string, number> = { d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001 };

/** Durations as `6m0s`, `1.5s`, `20ms`. */
function durationSec(value: string | null): number | undefined {
  if (value === null || value.length > 32 || !/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/.test(value))
    return undefined;
  let seconds = 0;
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)) {
    seconds += Number(amount) * (units[unit!] ?? 0);
  }
  return seconds;
}
