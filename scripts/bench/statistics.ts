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
