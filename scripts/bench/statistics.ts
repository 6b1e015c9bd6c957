/** Of numbers in any order; NaN of none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Milliseconds by the machine's monotonic clock: comparable between its processes, unlike `performance.now()`. */
export function machineNow(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** By how much equally spaced values grow from one to the next (least squares), with 95 % confidence: `slope ± error`. */
export function slopeOf(values: readonly number[]): { slope: number; error: number } {
  const count = values.length;
  const [middle, mean] = [(count - 1) / 2, values.reduce((sum, value) => sum + value, 0) / count];
  const spread = (count * (count * count - 1)) / 12;
  const slope = values.reduce((sum, value, n) => sum + (n - middle) * (value - mean), 0) / spread;
  const rest = values.reduce((sum, value, n) => sum + (value - mean - slope * (n - middle)) ** 2, 0);
  return { slope, error: studentT(count - 2) * Math.sqrt(rest / (count - 2) / spread) };
}

/** Of two-sided 95 %; good to a hundredth from five on, and NaN where nothing can be said. */
function studentT(freedom: number): number {
  const few = [Number.NaN, 12.71, 4.3, 3.18, 2.78];
  return (
    few[freedom] ??
    (freedom > 0 ? 1.96 + 2.37 / freedom + 2.82 / freedom ** 2 + 2.55 / freedom ** 3 : Number.NaN)
  );
}
