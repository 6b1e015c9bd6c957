/**
 * Forms that edit something post all their fields. A hidden field says what they showed, so that saving changes only what the
 * reader has changed: what somebody else changed meanwhile stays, and so does a value that is not among a field's choices.
 */
import { sha256Hex } from '@acp/kernel';
import { html, type Html } from './html.ts';

/** Name of the hidden field: digests of the values by name. */
export const AS_SHOWN = 'as_shown';

/** Values of a rejected form. */
interface Typed {
  readonly are_changes: boolean;
  readonly shown: ReadonlyMap<string, unknown> | null;
  has(name: string): boolean;
}

/**
 * The form with that field.
 * @param typed values of a rejected form that the form already contains: what was changed counts as changed when it is sent again
 */
export async function asShown(form: Html, typed: Typed | null = null): Promise<Html> {
  if (typed?.are_changes === false) return form;
  // Loaded with the first form that edits something.
  const { Parser } = await import('htmlparser2');
  const shown = new Map<string, string[]>();
  const add = (name: string | undefined, value: string): void => {
    if (name) shown.set(name, [...(shown.get(name) ?? []), value]);
  };
  let begin = 0;
  let area: { name: string | undefined; text: string } | null = null;
  let choice: { name: string | undefined; first?: string; selected?: string } | null = null;
  const parser = new Parser({
    onopentag(tag, { name, type = 'text', value = '', checked, selected }) {
      if (tag === 'form') begin = parser.endIndex + 1;
      if (tag === 'textarea') area = { name, text: '' };
      if (tag === 'select') choice = { name };
      if (tag === 'option' && choice) {
        choice.first ??= value;
        if (selected !== undefined) choice.selected = value;
      }
      const isTicked = type !== 'checkbox' && type !== 'radio' ? true : checked !== undefined;
      if (tag === 'input' && isTicked) add(name, value);
    },
    ontext(text) {
      if (area) area.text += text;
    },
    onclosetag(tag) {
      // The first line break of a textarea is not part of its value.
      if (tag === 'textarea' && area) add(area.name, area.text.replace(/^\n/, ''));
      if (tag === 'textarea') area = null;
      if (tag === 'select' && choice) add(choice.name, choice.selected ?? choice.first ?? '');
      if (tag === 'select') choice = null;
    },
  });
  parser.end(form);
  const digestNow = (name: string, values: string[]): unknown =>
    typed?.has(name) ? typed.shown?.get(name) : digestOf(values);
  const digests = Object.fromEntries([...shown].map(([name, values]) => [name, digestNow(name, values)]));
  const field = html`<input type="hidden" name="${AS_SHOWN}" value="${JSON.stringify(digests)}" />`;
  return form.slice(0, begin) + field + form.slice(begin);
}

/** Splits a posted form: the digests of what it showed, and its values without those that are as shown. */
export function changedValues(body: Readonly<Record<string, unknown>>): {
  shown: ReadonlyMap<string, unknown> | null;
  values: Record<string, unknown>;
} {
  const { [AS_SHOWN]: text, ...posted } = body;
  const shown = text === undefined ? null : digestsIn(text);
  const changed = Object.entries(posted).filter(
    ([name, value]) => shown?.get(name) !== digestOf(textsOf(value)),
  );
  return { shown, values: Object.fromEntries(changed) };
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
const digestOf = (values: readonly string[]): string =>
  sha256Hex(JSON.stringify(values.map((value) => value.replaceAll(/\r\n?/g, '\n')))).slice(0, 16);
