// The scripts' texts in the language of the page. English texts are in the code; each other language is a file, which the
// server generates from the translations.
const { lang } = document.documentElement;
const said = lang === 'en' ? {} : (await import(`./texts-${lang}.js`).catch(() => ({ default: {} }))).default;
const rules = new Intl.PluralRules(lang);
const { pluralCategories } = rules.resolvedOptions();
const categories = ['zero', 'one', 'two', 'few', 'many', 'other'].filter((name) =>
  pluralCategories.includes(name),
);

const filled = (text, values) => text.replace(/\{(\d+)\}/g, (whole, at) => values[at] ?? whole);

/** A text with values, which are never translated: t`${name} could not be moved`. */
export function t(strings, ...values) {
  const text = strings.reduce((all, literal, at) => `${all}{${at - 1}}${literal}`);
  return filled(said[text]?.[0] ?? text, values);
}

/** A number with its thousands separated. */
export const written = (number) => number.toLocaleString(lang);

/** `1 issue`, `12 issues`: `#` is the number. */
export function plural(number, one, other, ...values) {
  const forms = said[one];
  const at = Math.min(categories.indexOf(rules.select(number)), (forms?.length ?? 0) - 1);
  const form = forms ? forms[at] : number === 1 ? one : other;
  return filled(form.replace('#', written(number)), values);
}
