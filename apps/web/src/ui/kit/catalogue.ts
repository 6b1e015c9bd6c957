/** A language: its translations of the texts in the code, and its templates, each built once. */
import type { Chunk, Message } from './template-texts.ts';
import { cutTemplate } from './template-texts.ts';
import { messageKey as keyOf } from '@acp/kernel';

/** A translated template: the tag's literals, and which values in which order. */
interface SpokenTemplate {
  literals: { raw: readonly string[] };
  order: readonly number[];
}

/** A translated text outside of templates, likewise. */
export interface Sentence {
  literals: readonly string[];
  order: readonly number[];
}

/** The translations of one language. Untranslated texts stay English. */
export class Catalogue {
  readonly language: string;
  readonly #texts: ReadonlyMap<string, readonly string[]>;
  readonly #categories: readonly string[];
  readonly #rules: Intl.PluralRules;
  /** Keyed by the literals: the same array object for as long as the template's module is loaded. */
  readonly #templates = new WeakMap<TemplateStringsArray, SpokenTemplate>();
  readonly #sentences = new WeakMap<TemplateStringsArray, Sentence>();

  /** @param texts by `keyOf`; several forms for plurals */
  constructor(language: string, texts: ReadonlyMap<string, readonly string[]>) {
    this.language = language;
    this.#texts = texts;
    this.#rules = new Intl.PluralRules(language);
    const known = new Set(this.#rules.resolvedOptions().pluralCategories);
    this.#categories = ['zero', 'one', 'two', 'few', 'many', 'other'].filter((name) =>
      known.has(name as never),
    );
  }

  find(text: string, context = ''): string {
    return this.#texts.get(keyOf(text, context))?.[0] ?? text;
  }

  /** The forms are in the order of the language's plural categories; if there are fewer, the last one covers the rest. */
  findPlural(one: string, other: string, number: number): string {
    const forms = this.#texts.get(keyOf(one, ''));
    if (!forms) return number === 1 ? one : other;
    const at = this.#categories.indexOf(this.#rules.select(number));
    return forms[Math.min(at, forms.length - 1)]!;
  }

  template(strings: TemplateStringsArray): SpokenTemplate {
    let made = this.#templates.get(strings);
    if (made === undefined) {
      made = this.#make(cutTemplate(strings));
      this.#templates.set(strings, made);
    }
    return made;
  }

  sentence(strings: TemplateStringsArray): Sentence {
    let made = this.#sentences.get(strings);
    if (made === undefined) {
      const message = strings.reduce((all, literal, at) => `${all}{${at - 1}}${literal}`);
      // Literals and placeholders alternate.
      const parts = this.find(message).split(/\{(\d+)\}/);
      made = {
        literals: parts.filter((_part, at) => at % 2 === 0),
        order: parts.filter((_part, at) => at % 2 === 1).map(Number),
      };
      this.#sentences.set(strings, made);
    }
    return made;
  }

  #make(chunks: readonly Chunk[]): SpokenTemplate {
    const raw: string[] = [];
    const order: number[] = [];
    let literal = '';
    for (const part of this.#flat(chunks)) {
      if (typeof part === 'string') literal += part;
      else {
        // The tag treats a trailing `!` as its raw marker: one that belongs to the text is escaped.
        raw.push(part.raw ? `${literal}!` : literal.replace(/!$/, '&#33;'));
        order.push(part.value);
        literal = '';
      }
    }
    return { literals: { raw: [...raw, literal] }, order };
  }

  #flat(chunks: readonly Chunk[]): (string | { value: number; raw: boolean })[] {
    return chunks.flatMap((chunk) =>
      typeof chunk === 'object' && 'message' in chunk ? this.#spoken(chunk) : [chunk],
    );
  }

  #spoken(message: Message): (string | { value: number; raw: boolean })[] {
    const { values, tags, in_attribute } = message;
    return this.find(message.message)
      .split(PLACES)
      .flatMap((part) => {
        const [, value, open, close, single] = PLACE.exec(part) ?? [];
        if (value !== undefined) return values[Number(value)] ?? [];
        if (open !== undefined && !in_attribute) return this.#flat(tags[Number(open)]?.open ?? []);
        if (close !== undefined && !in_attribute) return tags[Number(close)]?.close ?? [];
        if (single !== undefined && !in_attribute) return this.#flat(tags[Number(single)]?.open ?? []);
        return escaped(part);
      });
  }
}

const PLACES = /(\{\d+\}|<\/?\d+\/?>)/;
const PLACE = /^(?:\{(\d+)\}|<(\d+)>|<\/(\d+)>|<(\d+)\/>)$/;

/** Translations are plain text: HTML in them is escaped. */
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)!};`);

export { messageKey as keyOf } from '@acp/kernel';
