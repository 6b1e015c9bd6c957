import { eventTable, matchesPattern } from '@acp/contract';
import { invalid, said } from '@acp/kernel';

const types = Object.values(eventTable).flatMap(({ plugin_type }) => plugin_type ?? []);

/** @throws invalid for a pattern that no event will ever match, naming the types most like it */
export function assertKnownPatterns(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    if (types.some((type) => matchesPattern(pattern, type))) continue;
    const distances = types.map((type) => ({
      type,
      distance: distanceOf(pattern.split('.'), type.split('.')),
    }));
    const least = Math.min(...distances.map(({ distance }) => distance));
    const nearest = distances.filter(({ distance }) => distance === least).map(({ type }) => type);
    throw invalid(
      said`events: no event matches ${pattern}; the nearest types are ${nearest.toSorted().join(', ')}`,
    );
  }
}

/** Letters to change in the words of a pattern; a `*` fits any word, a word too few or too many counts as five letters. */
function distanceOf(pattern: readonly string[], type: readonly string[]): number {
  const words = pattern.slice(0, type.length).map((word, n) => (word === '*' ? 0 : editsOf(word, type[n]!)));
  return words.reduce((sum, edits) => sum + edits, 5 * Math.abs(pattern.length - type.length));
}

/** Levenshtein distance. */
function editsOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (let i = 0; i < one.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j += 1)
      next.push(Math.min(row[j]! + (one[i] === other[j] ? 0 : 1), row[j + 1]! + 1, next[j]! + 1));
    row = next;
  }
  return row.at(-1)!;
}
