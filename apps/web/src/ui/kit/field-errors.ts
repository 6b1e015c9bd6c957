/** Puts an error next to its field. Errors start with their field: `body.slug must …`, `slug is in use`. */

import { say, t } from './language.ts';
import { formatInWords, patternInWords } from './value-formats.ts';

/** Validator messages in plain language. */
const plain: readonly [RegExp, (found: string) => string][] = [
  [/must NOT have fewer than 1 characters/, () => t`May not be empty.`],
  [/must NOT have fewer than (\d+) characters/, (length) => t`Needs ${length} characters or more.`],
  [/must NOT have more than (\d+) characters/, (length) => t`Can have at most ${length} characters.`],
  [/must match pattern "(.*)"$/s, (pattern) => patternInWords(pattern) ?? t`Has an invalid format.`],
  [/must match format "(.*)"$/, (format) => formatInWords(format) ?? t`Has an invalid format.`],
  [/must be integer/, () => t`Must be a whole number.`],
  [/must be >= (\S+)/, (bound) => t`Must be ${bound} or more.`],
  [/must be <= (\S+)/, (bound) => t`Must be ${bound} or less.`],
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
    if (error !== null && field !== undefined)
      this.#byField.set(field, known(error) ?? inWords(error.replace(new RegExp(`^${field}:? `), '')));
    this.general = field === undefined && error !== null ? inWords(error) : null;
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
  const [, first = ''] = /^(?:body\.)?(\w+)/.exec(error) ?? [];
  const named = fields.find((field) => field === missing || field === first);
  return named ?? Object.entries(about).find(([word]) => error.includes(word))?.[1];
}

function inWords(error: string): string {
  if (error.startsWith('body must have required')) return t`May not be empty.`;
  for (const [pattern, inPlain] of plain) {
    const match = pattern.exec(error);
    if (match) return inPlain(match[1] ?? '');
  }
  return asSentence(say(error.replace(/^body\.?/, '').trim()));
}

/** The translation of an error that the catalogue contains verbatim, field name included. */
function known(error: string): string | null {
  const said = say(error);
  return said === error ? null : asSentence(said);
}

const asSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
