/** Durations of recent checks, for `recent_check_timings` and the p99 rule of `/readyz`. */
export interface Timing {
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  count: number;
}

/** Number of samples kept per check. */
const KEPT = 200;

export class CheckTimings {
  readonly #samples = new Map<string, number[]>();

  add(check: string, duration_ms: number): void {
    const samples = this.#samples.get(check) ?? [];
    samples.push(duration_ms);
    if (samples.length > KEPT) samples.shift();
    this.#samples.set(check, samples);
  }

  of(check: string): Timing {
    const sorted = (this.#samples.get(check) ?? []).toSorted((a, b) => a - b);
    return {
      p50_ms: percentile(sorted, 50),
      p95_ms: percentile(sorted, 95),
      p99_ms: percentile(sorted, 99),
      count: sorted.length,
    };
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
