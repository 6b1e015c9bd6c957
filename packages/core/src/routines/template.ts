/** Templates for a routine's issues (decisions 3, Routines). Pure: inserted values are never interpreted as templates. */
import { readableJson } from '@acp/kernel';

interface TemplateValues {
  payload: unknown;
  /** RFC 3339. */
  now: string;
  routine: { name: string };
}

const place = /\{\{[ \t]{0,20}([\p{L}\p{N}_.-]{1,200})[ \t]{0,20}\}\}/gu;

/**
 * Fills in `{{payload}}`, `{{payload.some.path}}` (field names, or array indexes), `{{now}}` and `{{routine.name}}`. Missing values
 * become empty; unknown placeholders stay as they are. Objects are written as JSON.
 * @param longest in characters: longer results are cut, and never built beyond that
 */
export function fillTemplate(template: string, values: TemplateValues, longest: number): string {
  const known = new Map<string, string | undefined>();
  const parts: string[] = [];
  let length = 0;
  let from = 0;
  const push = (text: string) => {
    parts.push(text.slice(0, longest - length));
    length = Math.min(longest, length + text.length);
  };
  for (const match of template.matchAll(place)) {
    if (length >= longest) break;
    const [written, name = ''] = match;
    if (!known.has(name)) known.set(name, valueOf(name, values));
    push(template.slice(from, match.index));
    push(known.get(name) ?? written);
    from = match.index + written.length;
  }
  push(template.slice(from));
  // The cut may split a surrogate pair.
  return parts.join('').toWellFormed();
}

/** Undefined for an unknown placeholder. */
function valueOf(name: string, { payload, now, routine }: TemplateValues): string | undefined {
  if (name === 'now') return now;
  if (name === 'routine.name') return routine.name;
  const [first, ...path] = name.split('.');
  if (first !== 'payload') return undefined;
  let value = payload;
  for (const step of path) {
    // Own fields only: nothing from a prototype can be named.
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return '';
    value = (value as Record<string, unknown>)[step];
  }
  return textOf(value);
}

/** Text as is, null as empty, anything else as JSON. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : readableJson(value);
}
