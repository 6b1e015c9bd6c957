/**
 * Sentences for people who are not at a page: of alerts and mails. They are English in the code, and can be said in another language
 * afterwards, by the same files as pages (docs/translating.md).
 */
export interface Said {
  /** With places for the values: `{0}`. */
  readonly text: string;
  /** Of a word that the code knows a value by. */
  readonly context?: 'value';
  readonly values: readonly (string | Said)[];
}

/** Says a text of the code in a language; undefined: it has no word for it. */
export type Translate = (text: string, context: string) => string | undefined;

/** A sentence of the code. Values are never translated, but for those that are sentences themselves. */
export function said(strings: TemplateStringsArray, ...values: readonly (string | number | Said)[]): Said {
  return {
    text: strings.reduce((all, literal, at) => `${all}{${at - 1}}${literal}`),
    values: values.map((value) => (typeof value === 'number' ? String(value) : value)),
  };
}

/**
 * A sentence without values that is stored, and shown on pages later: marked here for translators, said in the reader's language there.
 */
export const stated = (text: string): string => text;

/** A constant that stands elsewhere. */
export const saidText = (text: string): Said => ({ text, values: [] });

/** A value that the code knows by an English word: `in_progress`. */
export const saidValue = (value: string): Said => ({
  text: value.replaceAll('_', ' '),
  context: 'value',
  values: [],
});

export function inWords(sentence: Said | string, translate: Translate = () => undefined): string {
  if (typeof sentence === 'string') return sentence;
  const { text, context = '', values } = sentence;
  const spoken = translate(text, context) ?? text;
  return spoken.replace(/\{(\d+)\}/g, (place, at: string) => {
    const value = values[Number(at)];
    return value === undefined ? place : inWords(value, translate);
  });
}
