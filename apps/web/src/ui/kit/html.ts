/** HTML as text that has been escaped: ghtml's tag, and the little that templates need around it. */
import { html } from 'ghtml';

export { html };

/** Text that is HTML already. Only for documentation: templates insert it by `!${…}`. */
export type Html = string;

/** The fragments of a list, one after the other. */
export function each<T>(items: readonly T[], render: (item: T, index: number) => Html): Html {
  return items.map(render).join('');
}

/** The fragment where the condition holds, else nothing. */
export function when<T>(value: T | null | undefined | false | '' | 0, render: (value: T) => Html): Html {
  return value ? render(value) : '';
}

/** Boolean and optional attributes: ` checked`, ` value="…"`; false and null leave them out. */
export function attributes(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): Html {
  return Object.entries(values)
    .filter(([, value]) => value !== false && value !== null && value !== undefined)
    .map(([name, value]) => (value === true ? ` ${name}` : html` ${name}="${String(value)}"`))
    .join('');
}
