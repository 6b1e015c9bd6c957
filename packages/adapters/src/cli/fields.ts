import { isObject } from '../process/lines.ts';

// The CLIs' formats change between releases: a field of an unexpected type counts as missing.

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** NaN for a value that is not a valid count, so that `cleanEvents` does not trust the sum either. */
export function count(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}

/** In USD; undefined if not reported. */
export function cost(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function object(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

export function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

const SHOWN = 4000;

/** For the transcript: long texts are cut, nested ones too. */
export function shown(value: unknown): unknown {
  if (typeof value === 'string') return cut(value, SHOWN);
  const json = JSON.stringify(value) ?? 'null';
  return json.length <= SHOWN ? value : cut(json, SHOWN);
}

/** Longer than any secret of one word. */
const LONGEST_WORD = 512;
const inWord = (character = ''): boolean => /[\w.+/=~-]/.test(character);

/**
 * The beginning. Secrets are removed later, by those who know them: of a word that the limit divides nothing is left, since it would not be
 * recognised.
 */
export function cut(value: string, limit: number): string {
  if (value.length <= limit) return value;
  let end = limit;
  while (limit - end < LONGEST_WORD && inWord(value[end - 1]) && inWord(value[limit])) end -= 1;
  if (end <= 0 || limit - end === LONGEST_WORD) end = limit;
  return `${value.slice(0, end).toWellFormed()}…`;
}

/** The end, likewise. */
export function lastOf(value: string, limit: number): string {
  const from = value.length - limit;
  if (from <= 0) return value;
  let begin = from;
  while (begin - from < LONGEST_WORD && inWord(value[begin]) && inWord(value[from - 1])) begin += 1;
  if (begin - from === LONGEST_WORD) begin = from;
  return `…${value.slice(begin).toWellFormed()}`;
}
