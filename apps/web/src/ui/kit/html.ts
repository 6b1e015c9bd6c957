/** HTML as text that has been escaped: ghtml's tag in the page's language, and the little that templates need around it. */
import { html as tag } from 'ghtml';
import { currentCatalogue } from './language.ts';

export { plural, t, texts } from './language.ts';

/** Text that is HTML already. Only for documentation: templates insert it by `!${…}`. */
export type Html = string;

/**
 * Escapes its values but those behind a `!`. What the template itself says is said in the language of the page
 * (language.ts), values never are.
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  const catalogue = currentCatalogue();
  if (catalogue === null) return tag(strings, ...values);
  const { literals, order } = catalogue.template(strings);
  return tag(literals as TemplateStringsArray, ...order.map((at) => values[at]));
}

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
