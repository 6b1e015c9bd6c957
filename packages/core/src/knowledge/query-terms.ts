/** Pure: turns the words of a question into full-text search terms with weights. */

/** Longer questions are represented by their first words: an issue's title, the first sentences of a message. */
const MOST_TERMS = 24;
const LONGEST_TERM = 60;
const SHORTEST_STEM = 4;

/** Endings that hide a common stem; crude, because the language is unknown. */
const endings = /(?:ings?|ed|ies|es|s|e|y)$/;

/**
 * Terms for `to_tsquery`, each once, in the order of the question: only letters and digits, as `searchable_text` leaves them.
 * Words of some length match by prefix, except those with a digit: order 2041 is not 20410.
 */
export function termsOf(question: string): string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}\p{M}]{2,}/gu) ?? [];
  const terms = words.map((word) => termOf(word.slice(0, LONGEST_TERM)));
  return [...new Set(terms)].slice(0, MOST_TERMS);
}

function termOf(word: string): string {
  if (/\p{N}/u.test(word)) return word;
  const stem = word.replace(endings, '');
  return stem.length >= SHORTEST_STEM ? `${stem}:*` : word;
}

export interface WeighedTerm {
  term: string;
  /** Number of passages that contain it; an estimate if there are very many. */
  found: number;
  /** Inverse document frequency: a rare word says more about the question. */
  weight: number;
}

export function weighed(terms: readonly { term: string; found: number }[], passages: number): WeighedTerm[] {
  return terms
    .filter(({ found }) => found > 0)
    .map(({ term, found }) => ({
      term,
      found,
      weight: Math.log(1 + (Math.max(passages, found) - found + 0.5) / (found + 0.5)),
    }));
}

/** How many of the rarest terms are required together if each is in very many passages. */
const TOGETHER = 3;

/**
 * Queries that select the passages to rank, most selective first: passages with any of the rarest terms, as many terms as occur
 * in at most that many passages in total. If even the rarest occurs in more, passages that also have the next ones come first.
 */
export function waysIn(terms: readonly WeighedTerm[], passages: number): string[] {
  const rarest = terms.toSorted((a, b) => a.found - b.found);
  let sum = 0;
  const few = rarest.filter(({ found }) => (sum += found) <= passages).map(({ term }) => term);
  if (few.length > 0) return [few.join(' | ')];
  const together = rarest.slice(0, TOGETHER).map(({ term }) => term);
  return together.map((_, at) => together.slice(0, together.length - at).join(' & '));
}
