/** Percentile of numbers in any order; NaN if there are none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Milliseconds of the machine's monotonic clock: comparable across its processes, unlike `performance.now()`. */
export function machineNow(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** Growth per step of equally spaced values (least squares), with 95 % confidence: `slope ± error`. */
export function slopeOf(values: readonly number[]): { slope: number; error: number } {
  const count = values.length;
  const [middle, mean] = [(count - 1) / 2, values.reduce((sum, value) => sum + value, 0) / count];
  const spread = (count * (count * count - 1)) / 12;
  const slope = values.reduce((sum, value, n) => sum + (n - middle) * (value - mean), 0) / spread;
  const rest = values.reduce((sum, value, n) => sum + (value - mean - slope * (n - middle)) ** 2, 0);
  return { slope, error: studentT(count - 2) * Math.sqrt(rest / (count - 2) / spread) };
}

/** Two-sided 95 % quantile; accurate to a hundredth from five on, NaN if undefined. */
function studentT(freedom: number): number {
  const few = [Number.NaN, 12.71, 4.3, 3.18, 2.78];
  return (
    few[freedom] ??
    (freedom > 0 ? 1.96 + 2.37 / freedom + 2.82 / freedom ** 2 + 2.55 / freedom ** 3 : Number.NaN)
  );
}
