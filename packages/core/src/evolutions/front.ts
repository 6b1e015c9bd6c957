/** Selects candidates by quality and cost. Pure. */

interface Scored {
  number: number;
  score: number;
  cost_usd: number;
}

/** Score improvement required for activating a prompt without review. */
export const PROMOTION_MARGIN = 0.05;
/** Score difference up to which two candidates are considered equally good. */
const ALIKE = 0.01;

/** Candidates not dominated by another that is at least as good and as cheap, and better in one of the two. */
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

/** The best of the front, the cheapest if several are equally good; undefined if none beats the original, number 0. */
export function winnerOf<T extends Scored>(candidates: readonly T[]): T | undefined {
  const base = candidates.find(({ number }) => number === 0);
  const better = paretoFront(candidates).filter(({ score }) => base === undefined || score > base.score);
  const best = Math.max(...better.map(({ score }) => score));
  return better
    .filter(({ score }) => score >= best - ALIKE)
    .toSorted((a, b) => a.cost_usd - b.cost_usd || b.score - a.score || a.number - b.number)[0];
}
