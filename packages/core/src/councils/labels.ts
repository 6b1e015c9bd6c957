/** How answers are presented to other participants: anonymously, in a different order for each reader. Pure. */
import { createHash } from 'node:crypto';

/** Deterministic per reader and round, also across processes, so that a resumed turn sees the same order. */
export function shuffledFor(
  of: { session_id: string; round: number; reader_id: string },
  agent_ids: readonly string[],
): string[] {
  const key = (id: string): string =>
    createHash('sha256').update(`${of.session_id}:${of.round}:${of.reader_id}:${id}`).digest('hex');
  return agent_ids
    .map((id) => ({ id, key: key(id) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ id }) => id);
}

export const letter = (place: number): string => String.fromCodePoint(65 + place);

/**
 * Reads the ballot in `RANKING: B > A > C` as agents; those not ranked are missing.
 * @param shuffled the order in which the reader saw them @returns null if there is no ballot
 */
export function readBallot(text: string, shuffled: readonly string[]): string[] | null {
  const line = /RANKING\W{0,5}\s*((?:[A-Z]\b[ \t>,*_]*)+)/i.exec(text)?.[1];
  const letters = line?.toUpperCase().match(/[A-Z]/g) ?? [];
  const ranked = letters.map((each) => shuffled[each.codePointAt(0)! - 65]).filter((id) => id !== undefined);
  return ranked.length === 0 ? null : [...new Set(ranked)];
}

/** All candidates, best first, by their mean place on the ballots of the others; ties keep the given order. */
export function tally(
  ballots: readonly { voter: string; ranking: readonly string[] }[],
  candidates: readonly string[],
): string[] {
  const meanOf = (id: string): number => {
    const others = ballots.filter(({ voter }) => voter !== id);
    if (others.length === 0) return candidates.length;
    const places = others.map(({ ranking }) => {
      const place = ranking.indexOf(id);
      return place === -1 ? ranking.length : place;
    });
    return places.reduce((sum, place) => sum + place, 0) / places.length;
  };
  const means = new Map(candidates.map((id) => [id, meanOf(id)]));
  return candidates.toSorted((a, b) => means.get(a)! - means.get(b)!);
}

/** Whether an answer of a later round confirms the previous one. */
export function keepsAnswer(text: string, before: string | null): boolean {
  const plain = (words: string): string =>
    words
      .replaceAll(/[\s*_`"'.!]+/g, ' ')
      .trim()
      .toLowerCase();
  return before !== null && (plain(text) === 'keep' || plain(text) === plain(before));
}
