/** Which candidates are worth having, by quality and cost. Pure. */

interface Scored {
  number: number;
  score: number;
  cost_usd: number;
}

/** Of the score: a difference that is worth the change without anybody having looked at it. */
export const PROMOTION_MARGIN = 0.05;
/** Of the score: two that are as good as each other. */
const ALIKE = 0.01;

/** Those than which no other one is at least as good and as cheap, and either better or cheaper. */
export function paretoFront<T extends Scored>(candidates: readonly T[]): T[] {
  return candidates.filter(
    (own) =>
      !candidates.some(
        (other) =>
          other.score >= own.score &&
          other.cost_usd <= own.cost_usd &&
          (other.score > own.score || other.cost_usd < own.cost_usd),
      ),
  );
}

/** The best one of the front, or of several as good the cheapest; undefined where nothing beats the beginning, number 0. */
export function winnerOf<T extends Scored>(candidates: readonly T[]): T | undefined {
  const base = candidates.find(({ number }) => number === 0);
  const better = paretoFront(candidates).filter(({ score }) => base === undefined || score > base.score);
  const best = Math.max(...better.map(({ score }) => score));
  return better
    .filter(({ score }) => score >= best - ALIKE)
    .toSorted((a, b) => a.cost_usd - b.cost_usd || b.score - a.score || a.number - b.number)[0];
}
