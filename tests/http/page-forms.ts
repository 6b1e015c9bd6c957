/** The forms of a page, and what a browser posts for them. */
import { Parser } from 'htmlparser2';

export type Values = Record<string, string[]>;

export interface Control {
  name: string;
  /** Of an input: its type; else `textarea` or `select`. */
  type: string;
  /** Of a select and of boxes: the values there are to choose from. */
  choices: string[];
  required: boolean;
  /** Set if the value is a list: what ends an item's key. */
  list: string | undefined;
}

export interface PageForm {
  action: string;
  multipart: boolean;
  /** What a browser posts if nothing is typed. */
  values: Values;
  /** The visible controls, by name. */
  controls: Map<string, Control>;
}

class Reader {
  readonly forms: PageForm[] = [];
  #form: PageForm | null = null;
  #area: { name: string; text: string } | null = null;
  #select: { control: Control; value?: string; fixed: boolean } | null = null;

  open(tag: string, given: Record<string, string>): void {
    if (tag === 'form' && given.method === 'post') {
      const { action = '', enctype } = given;
      this.#form = { action, multipart: enctype !== undefined, values: {}, controls: new Map() };
      this.forms.push(this.#form);
    }
    if (this.#form === null) return;
    // Whoever sends a form presses its first button.
    if (tag === 'button' && given.name && !(given.name in this.#form.values))
      this.#add(given.name, given.value ?? '');
    if (tag === 'input' && given.type === 'hidden') this.#add(given.name, given.value ?? '');
    else if (tag === 'input') this.#input(given);
    if (tag === 'textarea') {
      this.#control('textarea', given);
      this.#area = { name: given.name ?? '', text: '' };
    }
    if (tag === 'select') this.#select = { control: this.#control('select', given), fixed: false };
    if (tag === 'option' && this.#select) {
      const { value = '' } = given;
      this.#select.control.choices.push(value);
      if (!this.#select.fixed && (this.#select.value === undefined || 'selected' in given))
        this.#select.value = value;
      this.#select.fixed ||= 'selected' in given;
    }
  }

  text(text: string): void {
    if (this.#area) this.#area.text += text;
  }

  close(tag: string): void {
    if (tag === 'textarea' && this.#area) this.#add(this.#area.name, this.#area.text.replace(/^\n/, ''));
    if (tag === 'textarea') this.#area = null;
    if (tag === 'select' && this.#select) this.#add(this.#select.control.name, this.#select.value ?? '');
    if (tag === 'select') this.#select = null;
    if (tag === 'form') this.#form = null;
  }

  #input(given: Record<string, string>): void {
    const control = this.#control(given.type ?? 'text', given);
    const isBox = control.type === 'checkbox' || control.type === 'radio';
    if (isBox) control.choices.push(given.value ?? 'on');
    if (control.type !== 'file' && (!isBox || 'checked' in given))
      this.#add(given.name, given.value ?? (isBox ? 'on' : ''));
  }

  #control(type: string, given: Record<string, string>): Control {
    const { name = '', 'data-list': list } = given;
    const control = this.#form!.controls.get(name) ?? {
      name,
      type,
      choices: [],
      required: 'required' in given,
      list,
    };
    if (name !== '') this.#form!.controls.set(name, control);
    return control;
  }

  #add(name: string | undefined, value: string): void {
    if (this.#form && name) (this.#form.values[name] ??= []).push(value.replaceAll('\n', '\r\n'));
  }
}

export function pageForms(page: string): PageForm[] {
  const reader = new Reader();
  const parser = new Parser({
    onopentag: (tag, given) => {
      reader.open(tag, given);
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
