/** Pure: the words of a question as terms of the text search, and what each is worth. */

/** Longer questions are told by their first words: the title of an issue, the first sentences of a message. */
const MOST_TERMS = 24;
const LONGEST_TERM = 60;
const SHORTEST_STEM = 4;

/** Endings that hide that two words are of one stem; crude, because the language is not known. */
const endings = /(?:ings?|ed|ies|es|s|e|y)$/;

/**
 * Terms for `to_tsquery`, each once, in the order of the question: letters and digits alone, as `searchable_text` leaves them.
 * Words of some length are found by their beginning, but those with a digit: order 2041 is not 20410.
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
  /** Passages that have it; of very many an estimate. */
  found: number;
  /** Inverse document frequency: a rare word says more of what is asked. */
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

/** Of the rarest terms so many are asked for together where each is in very many passages. */
const TOGETHER = 3;

/**
 * Queries for the passages to be ranked, the most telling first: those with one of the rarest terms, as many terms as
 * together are in no more passages than that. Where the rarest is in more, those that have the next ones too come first.
 */
export function waysIn(terms: readonly WeighedTerm[], passages: number): string[] {
  const rarest = terms.toSorted((a, b) => a.found - b.found);
  let sum = 0;
  const few = rarest.filter(({ found }) => (sum += found) <= passages).map(({ term }) => term);
  if (few.length > 0) return [few.join(' | ')];
  const together = rarest.slice(0, TOGETHER).map(({ term }) => term);
  return together.map((_, at) => together.slice(0, together.length - at).join(' & '));
}
