/** Tests whether something has become worse: the one-sided Mann-Whitney rank-sum test. Pure. */

/** Probability of a false alarm if nothing has changed. */
export const ALPHA = 0.05;

/**
 * The probability that `after` ranks as low against `before`, or lower, if both have the same distribution. Uses the
 * normal approximation with corrections for ties and continuity, which is accurate enough from eight values per side.
 * Assumes nothing about the distribution.
 */
export function chanceOfWorse(before: readonly number[], after: readonly number[]): number {
  const [n, m] = [before.length, after.length];
  const all = [...before, ...after].toSorted((a, b) => a - b);
  const total = n + m;
  const ranks = new Map<number, number>();
  let tied = 0;
  for (let at = 0; at < total;) {
    let next = at;
    while (next < total && all[next] === all[at]) next += 1;
    const same = next - at;
    // Equal values share their mean rank.
    ranks.set(all[at]!, (at + 1 + next) / 2);
    tied += same ** 3 - same;
    at = next;
  }
  const rankSum = after.reduce((sum, value) => sum + ranks.get(value)!, 0);
  // Number of pairs in which the value of `after` is above that of `before`.
  const wins = rankSum - (m * (m + 1)) / 2;
  const variance = ((n * m) / 12) * (total + 1 - tied / (total * (total - 1)));
  if (!(variance > 0)) return 1;
  return normal((wins + 0.5 - (n * m) / 2) / Math.sqrt(variance));
}

/** The cumulative normal distribution (Abramowitz and Stegun 7.1.26; error below 0.0000002). */
function normal(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = (series * Math.exp(-x * x)) / 2;
  return z > 0 ? 1 - tail : tail;
}
