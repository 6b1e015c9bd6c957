/** The draws of an evolution: of its id and the candidate's number, so that whoever goes on with it draws the same. Pure. */
import { MINIBATCH } from '@acp/contract';
import { createHash } from 'node:crypto';

const hash = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join(':')).digest('hex');

/** In an order that no one chose. */
export function shuffled<T>(seed: string, items: readonly T[], keyOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, key: hash(seed, keyOf(item)) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
}

/** The next issues to learn from: each has its turn before one comes again, in another order each time. */
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
 * The parent of the next candidate: one of those that nobody beats on at least one instance, the likelier the more
 * instances that are. Who is good at something rare is so not lost to the best mean.
 * @param scores of each scored candidate, instance by instance
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
