/**
 * Refills a rejected form with what was typed, whatever page it is shown on: no page has to take care of that. Secrets are
 * left out: no page ever contains one.
 */
import type { Parser } from 'htmlparser2';
import { AS_SHOWN } from './as-shown.ts';
import type { FormValues } from './form-values.ts';
import { attributes, html, type Html } from './html.ts';

interface Tag {
  name: string;
  attributes: Record<string, string>;
  /** Offsets in the page; `end` is exclusive. */
  start: number;
  end: number;
}

interface Control extends Tag {
  /** `close`: where the text of a textarea ends. `select`: the name of an option's select. */
  close?: number;
  select?: string;
}

interface Form {
  controls: Control[];
  /** The enclosing `details`, closed as they were rendered. */
  folds: Tag[];
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

const controlNames = new Set(['input', 'textarea', 'select', 'button']);

/** Types whose value is not typed, or must not be shown again. */
const KEPT = new Set(['hidden', 'password', 'file', 'submit', 'button']);

/**
 * Returns the page with the values filled into the form that posts to `path`; unchanged if it has none.
 * @param secrets names of fields that are not refilled
 */
export async function giveBack(
  page: Html,
  path: string,
  typed: FormValues,
  secrets: readonly string[],
): Promise<Html> {
  // Loaded when the first form is rejected.
  const { Parser } = await import('htmlparser2');
  const form = formsOf(Parser, page, path).find((each) => isSource(each, typed));
  if (!form) return page;
  const edits = form.folds.map(({ end }) => ({ start: end - 1, end: end - 1, text: ' open' }));
  const seen = new Map<string, number>();
  for (const control of form.controls) {
    const name = control.select ?? control.attributes.name ?? '';
    if (typed.are_changes && !typed.has(name)) continue;
    const at = isText(control) ? (seen.get(name) ?? 0) : 0;
    seen.set(name, at + 1);
    const edit = secrets.includes(name) ? undefined : editOf(control, typed.all(name), at);
    if (edit) edits.push(edit);
  }
  return applied(page, edits);
}

/** Several forms of a page may post to the same path: their hidden fields distinguish them. */
function isSource({ controls }: Form, typed: FormValues): boolean {
  const names = new Set(controls.map(({ attributes: { name } }) => name));
  const hidden = controls.filter(({ attributes: { type } }) => type === 'hidden');
  return (
    typed.names.every((name) => names.has(name)) &&
    hidden.every(
      ({ attributes: { name = '', value = '' } }) =>
        name === AS_SHOWN || typed.all(name).includes(value) || (typed.are_changes && !typed.has(name)),
    )
  );
}

/** Several such fields may have one name: each has one of its values. */
const isText = ({ name, attributes: { type = 'text' } }: Control): boolean =>
  name === 'input' && type === 'text';

function editOf(control: Control, values: readonly string[], at: number): Edit | undefined {
  const { name, attributes: given, end, close } = control;
  // Which button was pressed is for the reader to say again.
  if (name === 'button') return undefined;
  if (name === 'option') return marked(control, 'selected', values.includes(given.value ?? ''));
  if (values.length === 0) return undefined;
  const value = isText(control) ? (values[at] ?? values.at(-1)!) : values.at(-1)!;
  // The parser drops the first line break of a textarea.
  if (name === 'textarea') return { start: end, end: close ?? end, text: `\n${html`${value}`}` };
  if (name === 'select' || KEPT.has(given.type ?? '')) return undefined;
  if (given.type === 'checkbox' || given.type === 'radio')
    return marked(control, 'checked', values.includes(given.value ?? 'on'));
  return rewritten(control, { ...given, value });
}

function marked(control: Control, mark: string, on: boolean): Edit {
  const { [mark]: _former, ...rest } = control.attributes;
  return rewritten(control, on ? { ...rest, [mark]: '' } : rest);
}

const rewritten = ({ name, start, end }: Tag, values: Record<string, string>): Edit => ({
  start,
  end,
  text: `<${name}${attributes(values)}>`,
});

function applied(page: Html, edits: readonly Edit[]): Html {
  let result = '';
  let from = 0;
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    result += page.slice(from, start) + text;
    from = end;
  }
  return result + page.slice(from);
}

/** The forms that post to the path, with the controls elsewhere on the page that name them. */
function formsOf(Reader: typeof Parser, page: Html, path: string): Form[] {
  const forms: Form[] = [];
  const byId = new Map<string, Form>();
  const elsewhere: Control[] = [];
  const folds: Tag[] = [];
  let form: Form | undefined;
  let select: string | undefined;
  const parser = new Reader({
    onopentag(name, given) {
      const tag = { name, attributes: given, start: parser.startIndex, end: parser.endIndex + 1 };
      if (name === 'details') folds.push(tag);
      if (name === 'form' && given.method === 'post' && given.action?.split('?')[0] === path) {
        form = { controls: [], folds: folds.filter(({ attributes: { open } }) => open === undefined) };
        forms.push(form);
        if (given.id !== undefined) byId.set(given.id, form);
      }
      if (name === 'select') select = given.name;
      if (name === 'option') form?.controls.push({ ...tag, ...(select === undefined ? {} : { select }) });
      if (name === 'input' && given.form !== undefined) elsewhere.push(tag);
      else if (controlNames.has(name)) form?.controls.push(tag);
    },
    onclosetag(name) {
      const last = form?.controls.at(-1);
      if (name === 'textarea' && last) last.close = parser.startIndex;
      if (name === 'form') form = undefined;
      if (name === 'select') select = undefined;
      if (name === 'details') folds.pop();
    },
  });
  parser.end(page);
  for (const control of elsewhere) byId.get(control.attributes.form ?? '')?.controls.push(control);
  return forms;
}
