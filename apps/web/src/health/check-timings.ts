/** Durations of recent checks, for `recent_check_timings` and the p99 rule of `/readyz`. */
export interface Timing {
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  count: number;
}

/** Number of samples kept per check. */
const KEPT = 200;
/** Age of the oldest sample that counts: an outage is not held against a check for longer than that. */
const RECENT_MS = 5 * 60_000;

interface Sample {
  at: number;
  duration_ms: number;
}

export class CheckTimings {
  readonly #samples = new Map<string, Sample[]>();
  readonly #now: () => number;

  /** @param now in milliseconds, never set back */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  add(check: string, duration_ms: number): void {
    const samples = this.#recent(check);
    samples.push({ at: this.#now(), duration_ms });
    if (samples.length > KEPT) samples.shift();
    this.#samples.set(check, samples);
  }

  of(check: string): Timing {
    const sorted = this.#recent(check)
      .map(({ duration_ms }) => duration_ms)
      .toSorted((a, b) => a - b);
    return {
      p50_ms: percentile(sorted, 50),
      p95_ms: percentile(sorted, 95),
      p99_ms: percentile(sorted, 99),
      count: sorted.length,
    };
  }

  #recent(check: string): Sample[] {
    const since = this.#now() - RECENT_MS;
    return (this.#samples.get(check) ?? []).filter(({ at }) => at >= since);
  }

  all(): Record<string, Timing> {
    return Object.fromEntries([...this.#samples.keys()].map((check) => [check, this.of(check)]));
  }
}

/** Nearest rank; 0 without samples. */
export function percentile(sorted: readonly number[], percent: number): number {
  if (sorted.length === 0) return 0;
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
}
