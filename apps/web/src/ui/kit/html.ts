/** HTML as escaped text: ghtml's tag with translated templates, and a few helpers for templates. */
import { html as tag } from 'ghtml';
import { currentCatalogue } from './language.ts';

export { plural, t, texts } from './language.ts';

/** Text that is already HTML. A type for documentation only: templates insert it by `!${…}`. */
export type Html = string;

/**
 * Escapes its values except those after a `!`. The template's own texts are translated into the page's language
 * (language.ts), values never are.
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  const catalogue = currentCatalogue();
  if (catalogue === null) return tag({ raw: strings } as unknown as TemplateStringsArray, ...values);
  const { literals, order } = catalogue.template(strings);
  return tag(literals as TemplateStringsArray, ...order.map((at) => values[at]));
}

/** Renders the items of a list, concatenated. */
export function each<T>(items: readonly T[], render: (item: T, index: number) => Html): Html {
  return items.map(render).join('');
}

/** Renders the value if it is truthy, else nothing. */
export function when<T>(value: T | null | undefined | false | '' | 0, render: (value: T) => Html): Html {
  return value ? render(value) : '';
}

/** Boolean and optional attributes: ` checked`, ` value="…"`; omitted if false or null. */
export function attributes(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): Html {
  return Object.entries(values)
    .filter(([, value]) => value !== false && value !== null && value !== undefined)
    .map(([name, value]) => (value === true ? ` ${name}` : html` ${name}="${String(value)}"`))
    .join('');
}
