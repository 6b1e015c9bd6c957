/** Reads the forms of a finished page: what a browser would post for each, unless something is typed. */
import type { Html } from './html.ts';

/**
 * Marks a field whose value is a list: items separated by commas in an input, by lines in a textarea, or one per box. Its
 * value is what ends the key of an item: `=` for `NAME=value`; empty if an item is a whole.
 */
export const LIST = 'data-list';

export interface Field {
  readonly name: string;
  /** Values as posted; line breaks are those of the page. */
  readonly values: readonly string[];
  /** Set if the value is a list. */
  readonly list: List | null;
  /** What the page calls it. */
  readonly label: string;
}

interface List {
  /** What ends an item's key; empty if an item has none. */
  readonly key_end: string;
  readonly separator: ',' | '\n' | null;
}

export interface ReadForm {
  readonly action: string;
  /** Offset in the page behind the form's own tag. */
  readonly start: number;
  /** Without fields that are only hidden: the form's own constants. */
  readonly fields: ReadonlyMap<string, Field>;
  readonly hidden: ReadonlyMap<string, string>;
}

interface Draft {
  values: string[];
  list: List | null;
  id: string;
  label: string;
}

class Reader {
  readonly forms: (ReadForm & {
    fields: Map<string, Field>;
    hidden: Map<string, string>;
  })[] = [];
  readonly #labels = new Map<string, string>();
  #drafts = new Map<string, Draft>();
  #twins: [name: string, value: string][] = [];
  #area: { draft: Draft | null; text: string } | null = null;
  #choice: { draft: Draft | null; first?: string; chosen?: string } | null = null;
  #label: { of: string | undefined; text: string; drafts: Draft[] } | null = null;

  open(tag: string, given: Readonly<Record<string, string>>, end: number): void {
    if (tag === 'form') this.#begin(given.action ?? '', end);
    if (tag === 'label') this.#label = { of: given.for, text: '', drafts: [] };
    if (this.forms.length === 0) return;
    if (tag === 'textarea') this.#area = { draft: this.#draft(given, '\n'), text: '' };
    if (tag === 'select') this.#choice = { draft: this.#draft(given, null) };
    if (tag === 'option' && this.#choice) {
      const { value = '' } = given;
      this.#choice.first ??= value;
      if (given.selected !== undefined) this.#choice.chosen = value;
    }
    if (tag === 'input') this.#input(given);
  }

  text(text: string): void {
    if (this.#area) this.#area.text += text;
    if (this.#label) this.#label.text += text;
  }

  close(tag: string): void {
    if (tag === 'textarea' && this.#area) {
      // The first line break of a textarea is not part of its value.
      this.#area.draft?.values.push(this.#area.text.replace(/^\n/, ''));
      this.#area = null;
    }
    if (tag === 'select' && this.#choice) {
      const { draft, chosen, first = '' } = this.#choice;
      draft?.values.push(chosen ?? first);
      this.#choice = null;
    }
    if (tag === 'label' && this.#label) {
      const text = this.#label.text.replaceAll(/\s+/g, ' ').trim();
      if (this.#label.of !== undefined) this.#labels.set(this.#label.of, text);
      for (const draft of this.#label.drafts) draft.label = text;
      this.#label = null;
    }
    if (tag === 'form') this.#end();
  }

  #begin(action: string, start: number): void {
    this.forms.push({ action, start, fields: new Map(), hidden: new Map() });
    this.#drafts = new Map();
    this.#twins = [];
  }

  #draft(given: Readonly<Record<string, string>>, separator: List['separator']): Draft | null {
    const { name = '', id = '', [LIST]: key_end } = given;
    if (name === '') return null;
    const list = key_end === undefined ? null : { key_end, separator };
    const draft = this.#drafts.get(name) ?? { values: [], list, id, label: '' };
    this.#drafts.set(name, draft);
    this.#label?.drafts.push(draft);
    return draft;
  }

  #input(given: Readonly<Record<string, string>>): void {
    const { type = 'text', name = '', value } = given;
    if (type === 'hidden') {
      if (name !== '') this.#twins.push([name, value ?? '']);
      return;
    }
    if (type === 'file') return;
    const isBox = type === 'checkbox' || type === 'radio';
    const draft = this.#draft(given, isBox ? null : ',');
    if (!isBox) draft?.values.push(value ?? '');
    else if (given.checked !== undefined) draft?.values.push(value ?? 'on');
  }

  /** A hidden input of a box's name is its twin: it says that the form has the box. */
  #end(): void {
    const form = this.forms.at(-1);
    if (form === undefined) return;
    for (const [name, value] of this.#twins) {
      const draft = this.#drafts.get(name);
      if (draft) draft.values.unshift(value);
      else form.hidden.set(name, value);
    }
    for (const [name, { values, list, id, label }] of this.#drafts)
      form.fields.set(name, {
        name,
        values,
        list,
        label: this.#labels.get(id) ?? label,
      });
    this.#drafts = new Map();
  }
}

export async function readForms(page: Html): Promise<readonly ReadForm[]> {
  // Loaded with the first form that edits something.
  const { Parser } = await import('htmlparser2');
  const reader = new Reader();
  const parser = new Parser({
    onopentag: (tag, given) => {
      reader.open(tag, given, parser.endIndex + 1);
    },
    ontext: (text) => {
      reader.text(text);
    },
    onclosetag: (tag) => {
      reader.close(tag);
    },
  });
  parser.end(page);
  return reader.forms;
}

/** The items of a list's values. */
export function itemsOf(values: readonly string[], separator: List['separator']): string[] {
  const texts = separator === null ? values : values.flatMap((value) => value.split(separator));
  return texts.map((text) => text.trim()).filter((text) => text !== '');
}

/** The field's values for these items. */
export function valuesOf(items: readonly string[], separator: List['separator']): string[] {
  if (separator === null) return [...items];
  return [items.join(separator === ',' ? ', ' : separator)];
}

export function keyOf(item: string, { key_end }: List): string {
  const at = key_end === '' ? -1 : item.indexOf(key_end);
  return at < 0 ? item : item.slice(0, at).trim();
}
