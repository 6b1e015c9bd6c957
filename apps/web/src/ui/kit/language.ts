/**
 * The language a page is rendered in. The code contains the English texts; other languages are files in
 * `apps/web/languages`, written by translators (docs/translating.md). The language is stored in the request's async
 * context: templates look up their static text by themselves (html.ts), other texts use `t`, `plural` and `say`. So is what
 * else the page depends on for its reader: the time zone, and what is unfolded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { inWords, type Said as Sayable, written } from '@acp/kernel';
import type { Catalogue, Sentence } from './catalogue.ts';

interface Habits {
  zone?: string | undefined;
  /** Groups of the navigation that this browser has left open. */
  unfolded?: readonly string[];
}

interface Reader extends Habits {
  /** Null: English. */
  catalogue: Catalogue | null;
  /** Why the request was refused. */
  refusal?: Sayable;
}

const reader = new AsyncLocalStorage<Reader>();

export function inLanguage<T>(catalogue: Catalogue | null, work: () => T, habits: Habits = {}): T {
  return reader.run({ ...habits, catalogue }, work);
}

export const currentCatalogue = (): Catalogue | null => reader.getStore()?.catalogue ?? null;

/** The time zone that the reader has chosen, or UTC. */
export const currentZone = (): string => reader.getStore()?.zone ?? 'UTC';

export const unfolded = (): readonly string[] => reader.getStore()?.unfolded ?? [];

/** Language of the current page: `en`, `de`. */
export const currentLanguage = (): string => currentCatalogue()?.language ?? 'en';

/** Locale for numbers, dates and money. */
export const currentLocale = (): string => currentCatalogue()?.language ?? 'en-US';

type Said = string | number;

/** Translates a text outside of a template. Its values are never translated. */
export function t(strings: TemplateStringsArray, ...values: readonly Said[]): string {
  const catalogue = currentCatalogue();
  return catalogue === null ? joined(strings, values) : joinedBy(catalogue.sentence(strings), values);
}

function joined(literals: readonly string[], values: readonly Said[]): string {
  let text = literals[0]!;
  for (let at = 0; at < values.length; at += 1) text += values[at]! + literals[at + 1]!;
  return text;
}

function joinedBy({ literals, order }: Sentence, values: readonly Said[]): string {
  let text = literals[0]!;
  for (let at = 0; at < order.length; at += 1) text += values[order[at]!]! + literals[at + 1]!;
  return text;
}

const filled = (message: string, values: readonly Said[]): string =>
  message.replace(/\{(\d+)\}/g, (whole, at: string) => String(values[Number(at)] ?? whole));

/** `1 run`, `12 runs`: `#` is the number, and `{0}` the first of the following values. */
export function plural(number: number, one: string, other: string, ...values: readonly Said[]): string {
  const catalogue = currentCatalogue();
  const form = catalogue ? catalogue.findPlural(one, other, number) : number === 1 ? one : other;
  return filled(form.replace('#', written(number, currentLocale())), values);
}

/** Has `say` translate the message of a refusal with values in it, which pages pass on as the API words it. */
export function heedRefusal({ message, said }: { message: string; said?: Sayable }): string {
  const store = reader.getStore();
  if (store && said) store.refusal = said;
  return message;
}

/** Translates a text that was written elsewhere, when the kit renders it: `label: '…'` of a field or a column. */
export function say(text: string): string {
  const { catalogue = null, refusal } = reader.getStore() ?? {};
  if (catalogue === null) return text;
  if (refusal && inWords(refusal) === text)
    return inWords(refusal, (part, context) => catalogue.find(part, context));
  return catalogue.find(text);
}

/** Constants shown to people, such as names by value: each is translated when read, in the current language. */
export function texts<T extends object>(constants: T): T {
  const read: object = Array.isArray(constants) ? [] : (Object.create(null) as object);
  for (const [name, value] of Object.entries(constants) as [string, unknown][])
    Object.defineProperty(read, name, {
      enumerable: true,
      get: () => (typeof value === 'string' ? say(value) : isNested(value) ? nested(value) : value),
    });
  return read as T;
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Each is built once. */
const made = new WeakMap<object, object>();

function nested(value: object): object {
  let read = made.get(value);
  if (read === undefined) {
    read = texts(value);
    made.set(value, read);
  }
  return read;
}

/** Values that are abbreviations or names: lower case reads like a typing error. */
const spelled: ReadonlyMap<string, string> = new Map(
  'CEO CFO CIO CLO CMO CRO CTO PM QA LLM DevOps Docker Lambda'
    .split(' ')
    .map((name) => [name.toLowerCase(), name]),
);

/** Translates a value that the code knows by an English word: `in_progress`. */
export function translateValue(value: string): string {
  const word = value.includes('_') ? value.replaceAll('_', ' ') : value;
  return currentCatalogue()?.find(word, 'value') ?? spelled.get(word) ?? word;
}
