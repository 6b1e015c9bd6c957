/** Random draws of an evolution, seeded by its ID and the candidate's number so that a resumed evolution repeats them. Pure. */
import { MINIBATCH } from '@acp/contract';
import { createHash } from 'node:crypto';

const hash = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join(':')).digest('hex');

/** Shuffles the items deterministically. */
export function shuffled<T>(seed: string, items: readonly T[], keyOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, key: hash(seed, keyOf(item)) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
}

/** The next issues to learn from: each is used once before any is repeated, in a different order each time. */
export function minibatchOf(id: string, number: number, train: readonly number[]): number[] {
  if (train.length <= MINIBATCH) return [...train];
  const first = (number - 1) * MINIBATCH;
  const places = Array.from({ length: MINIBATCH }, (_, at) => first + at);
  const drawn = places.map((place) => {
    const epoch = Math.floor(place / train.length);
    return shuffled(`${id}:${epoch}`, train, String)[place % train.length]!;
  });
  return [...new Set(drawn)];
}

/**
 * The parent of the next candidate: drawn from those that are the best on at least one instance, weighted by the number of such
 * instances. This way a candidate that excels at something rare does not lose to the best mean.
 * @param scores of each scored candidate, by instance
 */
export function drawnParent(
  id: string,
  number: number,
  scores: ReadonlyMap<number, readonly number[]>,
): number {
  const candidates = [...scores.keys()];
  const instances = [...scores.values()][0]?.length ?? 0;
  const wins = new Map<number, number>();
  for (let at = 0; at < instances; at += 1) {
    const best = Math.max(...candidates.map((each) => scores.get(each)![at]!));
    for (const each of candidates)
      if (scores.get(each)![at] === best) wins.set(each, (wins.get(each) ?? 0) + 1);
  }
  const total = [...wins.values()].reduce((sum, count) => sum + count, 0);
  let place = total === 0 ? 0 : Number.parseInt(hash(id, 'parent', number).slice(0, 12), 16) % total;
  for (const [candidate, count] of wins) {
    if (place < count) return candidate;
    place -= count;
  }
  return candidates[0] ?? 0;
}
