import type { AdapterError } from '../adapter-error.ts';

/** A longer wait is left to the caller, which can do something else in the meantime. */
export const longestWaitSec = 20;
const mostRetries = 2;

/** Milliseconds until the next attempt; null if there is none. `attempt` starts at 1. */
export function retryDelayMs(failure: AdapterError, attempt: number, random = Math.random): number | null {
  const asked = failure.retry_after_sec;
  if (failure.category !== 'transient' || attempt > mostRetries) return null;
  if (asked !== undefined) return asked > longestWaitSec ? null : asked * 1000 + random() * 250;
  // Full jitter around 0.5 s and 1 s, so that runs that failed together don't retry together.
  return 500 * 2 ** (attempt - 1) * (0.5 + random());
}

type HeaderSource = Pick<Headers, 'get'>;

/** Whatever an endpoint asks for: a greater number is no date. */
const LONGEST_ASKED_SEC = 30 * 86_400;

/** Seconds until the provider may be called again, from any of the common headers; undefined without one. */
export function retryAfterSec(headers: HeaderSource, now = Date.now()): number | undefined {
  const asked = askedSec(headers, now);
  return asked === undefined ? undefined : Math.min(asked, LONGEST_ASKED_SEC);
}

function askedSec(headers: HeaderSource, now: number): number | undefined {
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

// Without Retry-After, vendors' own headers give the reset time of each allowance: only exhausted ones count.
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

/** Durations such as `6m0s`, `1.5s`, `20ms`. */
function durationSec(value: string | null): number | undefined {
  if (value === null || value.length > 32 || !/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/.test(value))
    return undefined;
  let seconds = 0;
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)) {
    seconds += Number(amount) * (units[unit!] ?? 0);
  }
  return seconds;
}
