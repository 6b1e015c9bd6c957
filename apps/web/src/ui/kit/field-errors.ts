/** Puts an error next to its field. Errors start with their field: `body.slug must …`, `slug is in use`. */

import { say, t } from './language.ts';
import { formatInWords, patternInWords } from './value-formats.ts';

type InPlainWords = readonly [RegExp, (found: string) => string];

/** Validator messages in plain language. */
const plain: readonly InPlainWords[] = [
  [/must NOT have fewer than 1 (?:characters|items)/, () => t`May not be empty.`],
  [/must NOT have fewer than (\d+) characters/, (length) => t`Needs ${length} characters or more.`],
  [/must NOT have more than (\d+) characters/, (length) => t`Can have at most ${length} characters.`],
  [/must match pattern "(.*)"$/s, (pattern) => patternInWords(pattern) ?? t`Has an invalid format.`],
  [/must match format "(.*)"$/, (format) => formatInWords(format) ?? t`Has an invalid format.`],
  [/must be integer/, () => t`Must be a whole number.`],
  [/must be >= (\S+)/, (bound) => t`Must be ${bound} or more.`],
  [/must be <= (\S+)/, (bound) => t`Must be ${bound} or less.`],
  [/must be > (\S+)/, (bound) => t`Must be more than ${bound}.`],
  [/must be equal to one of/, () => t`Is none of the choices.`],
];

export class FieldErrors {
  readonly #byField = new Map<string, string>();
  /** The error if it belongs to no field of the form, else null. */
  readonly general: string | null;

  /**
   * @param fields names of the form's fields
   * @param about fields of errors that do not name theirs, by a word in the error
   */
  constructor(
    error: string | null,
    fields: readonly string[] = [],
    about: Readonly<Record<string, string>> = {},
  ) {
    const field = error === null ? undefined : fieldOf(error, fields, about);
    // Next to its field, an error need not name it.
    if (error !== null && field !== undefined) this.#byField.set(field, inWords(error, field));
    this.general = field === undefined && error !== null ? inWords(error) : null;
  }

  /** Whether one is next to a field. */
  get any(): boolean {
    return this.#byField.size > 0;
  }

  of(field: string): string | null {
    return this.#byField.get(field) ?? null;
  }
}

function fieldOf(
  error: string,
  fields: readonly string[],
  about: Readonly<Record<string, string>>,
): string | undefined {
  const missing = /^body must have required propert(?:y|ies) '?(\w+)/.exec(error)?.[1];
  const named = fields.find((field) => field === missing || nameIn(error).includes(field));
  return named ?? Object.entries(about).find(([word]) => error.includes(word))?.[1];
}

/** The names that the error may start with: of a field, or of a part of its value. */
function nameIn(error: string): string[] {
  const [, whole = ''] = /^(?:body\.)?(\w+(?:\.\w+)*)/.exec(error) ?? [];
  return whole === '' ? [] : [whole, whole.split('.')[0]!];
}

/** For a page that does not show errors next to fields: names the field as the page does. Unchanged if it names none. */
export function withLabel(error: string, labels: ReadonlyMap<string, string>): string {
  const missing = /^body must have required propert(?:y|ies) '?(\w+)/.exec(error)?.[1];
  const field = [missing ?? '', ...nameIn(error)].find((name) => labels.has(name));
  const isTechnical =
    error.startsWith('body') || error.startsWith(`${field}: `) || / must (?:be|NOT|match)/.test(error);
  if (field === undefined || !isTechnical) return error;
  return `${labels.get(field) ?? ''}: ${inWords(error, field)}`;
}

/** @param field that the words stand beside: they do not begin with its name */
function inWords(error: string, field = ''): string {
  if (error.startsWith('body must have required')) return t`May not be empty.`;
  const spoken = say(error);
  const words = field === '' ? spoken : spoken.replace(new RegExp(`^(?:body\\.)?${field}:? `), '');
  return (spoken === error ? asPlain(words) : null) ?? asSentence(words.replace(/^body\.?/, '').trim());
}

function asPlain(error: string): string | null {
  for (const [pattern, inPlain] of plain) {
    const match = pattern.exec(error);
    if (match) return inPlain(match[1] ?? '');
  }
  return null;
}

const asSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
