import { describe, expect, it } from '@jest/globals';
import { AdapterError } from '../adapter-error.ts';
import { retryAfterSec, retryDelayMs } from './retry.ts';

const now = Date.parse('2026-11-21T10:00:00Z');

const transient = (wait?: number) => new AdapterError('transient', 'x', { retry_after_sec: wait });

describe('the wait that a provider asks for', () => {
  it.each([
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': '1.5' }, 1.5],
    [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:30 GMT' }, 30],
    [{ 'retry-after': 'Sat, 21 Nov 2026 09:00:00 GMT' }, 0],
    [{ 'retry-after': '-3' }, undefined],
    [{ 'retry-after': '1e300' }, 2_592_000],
    [{ 'retry-after-ms': 'Infinity' }, 2_592_000],
    [
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '9'.repeat(30) + 'd' },
      2_592_000,
    ],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 0.25],
    [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m30s' }, 90],
    [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '120ms' }, 0.12],
    [{ 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-requests': '1m30s' }, undefined],
    [
      {
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': '2026-11-21T10:02:00Z',
      },
      120,
    ],
    [{}, undefined],
  ])('is read from %j', (headers, seconds) => {
    expect(retryAfterSec(new Headers(Object.entries(headers)), now)).toBe(seconds);
  });
});

describe('the next attempt', () => {
  it('comes after a growing, scattered wait, twice', () => {
    expect(retryDelayMs(transient(), 1, () => 0)).toBe(250);
    expect(retryDelayMs(transient(), 1, () => 1)).toBe(750);
    expect(retryDelayMs(transient(), 2, () => 0)).toBe(500);
    expect(retryDelayMs(transient(), 3)).toBeNull();
  });

  it('comes after the wait that was asked for, up to 20 s', () => {
    expect(retryDelayMs(transient(20), 1, () => 0)).toBe(20_000);
    expect(retryDelayMs(transient(20.1), 1)).toBeNull();
  });

  it('comes for transient failures only', () => {
    for (const category of ['auth', 'quota', 'permanent', 'config', 'timeout', 'cancelled'] as const) {
      expect(retryDelayMs(new AdapterError(category, 'x'), 1)).toBeNull();
    }
  });
});
