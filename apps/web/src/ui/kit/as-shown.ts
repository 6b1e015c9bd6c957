/**
 * Forms that edit something post all their fields. A hidden field says what they showed, so that saving changes only what the
 * reader has changed: what somebody else changed meanwhile stays, and so does a value that is not among a field's choices.
 */
import { sha256Hex } from '@acp/kernel';
import { type Field, itemsOf, readForms } from './form-fields.ts';
import { html, type Html } from './html.ts';

/** Name of the hidden field: digests of the values by name, of each item for a list. */
export const AS_SHOWN = 'as_shown';

export type Digests = ReadonlyMap<string, unknown>;

/** Values of a rejected form. */
interface Typed {
  readonly are_changes: boolean;
  readonly shown: Digests | null;
  has(name: string): boolean;
}

/**
 * The form with that field.
 * @param typed values of a rejected form that the form already contains: what was changed counts as changed when it is sent again
 */
export async function asShown(form: Html, typed: Typed | null = null): Promise<Html> {
  if (typed?.are_changes === false) return form;
  const [read] = await readForms(form);
  if (read === undefined) return form;
  const digestNow = (field: Field): unknown =>
    typed?.has(field.name) ? typed.shown?.get(field.name) : digestsOf(field);
  const digests = Object.fromEntries(
    [...read.fields.values()].map((field) => [field.name, digestNow(field)]),
  );
  const hidden = html`<input type="hidden" name="${AS_SHOWN}" value="${JSON.stringify(digests)}" />`;
  return form.slice(0, read.start) + hidden + form.slice(read.start);
}

/** One digest, or one for each item of a list. */
const digestsOf = ({ values, list }: Field): unknown =>
  list === null ? digestOf(values) : itemsOf(values, list.separator).map((item) => digestOf([item]));

/** Whether the field is still as it was shown. */
export const isAsShown = (field: Field, shown: unknown): boolean =>
  JSON.stringify(digestsOf(field)) === JSON.stringify(shown);

/** Splits a posted form: the digests of what it showed, and its values without those that are as shown. */
export function changedValues(body: Readonly<Record<string, unknown>>): {
  shown: Digests | null;
  values: Record<string, unknown>;
} {
  const { [AS_SHOWN]: text, ...posted } = body;
  const shown = text === undefined ? null : digestsIn(text);
  const changed = Object.entries(posted).filter(([name, value]) => !isSame(textsOf(value), shown?.get(name)));
  return { shown, values: Object.fromEntries(changed) };
}

/** A list's separator is known to the page only: either is tried, and its boxes. */
function isSame(values: readonly string[], shown: unknown): boolean {
  if (!Array.isArray(shown)) return shown === digestOf(values);
  return ([',', '\n', null] as const).some((separator) => {
    const items = itemsOf(values.map(unixLines), separator);
    return items.length === shown.length && items.every((item, at) => digestOf([item]) === shown[at]);
  });
}

function digestsIn(text: unknown): Map<string, unknown> {
  try {
    return new Map(Object.entries(JSON.parse(String(text)) as object));
  } catch {
    return new Map();
  }
}

const textsOf = (value: unknown): string[] =>
  [value].flat().filter((each): each is string => typeof each === 'string');

/** Browsers end lines by CR LF. */
const unixLines = (text: string): string => text.replaceAll(/\r\n?/g, '\n');

export const digestOf = (values: readonly string[]): string =>
  sha256Hex(JSON.stringify(values.map(unixLines))).slice(0, 16);
