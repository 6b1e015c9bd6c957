import { invalid, said, type ServiceError } from '@acp/kernel';
import { changedValues, type Digests } from './as-shown.ts';

/** Value of a field that chooses nothing, where an empty one leaves it as it is. */
export const NONE = 'none';

/** Of a field that has to say something: empty, it means neither none nor what it was. */
export const emptied = (name: string): ServiceError => invalid(said`${name}: may not be empty`);

/** Values of a posted form; a name may occur several times. */
export class FormValues {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #whole: FormValues | null;
  /** As read so far: a page asks for those of one name as often as it has choices. */
  readonly #texts = new Map<string, readonly string[]>();
  /** Of a form that edits something: digests of what its fields showed. */
  readonly shown: Digests | null;

  /** @param applied of a form that edits something: everything it says once its changes are applied to what is there now */
  constructor(body: unknown, applied: { shown: Digests; whole: FormValues } | null = null) {
    const posted = typeof body === 'object' && body !== null ? { ...body } : {};
    const { shown, values } = applied ? { ...applied, values: posted } : changedValues(posted);
    this.shown = shown;
    this.#values = values;
    this.#whole = applied?.whole ?? null;
  }

  /** All fields, for an endpoint that takes the whole: those that were left alone are as they are now. */
  get whole(): FormValues {
    return this.#whole ?? this;
  }

  /** The form edits something: values that are as it showed them are left out. */
  get are_changes(): boolean {
    return this.shown !== null;
  }

  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name);
  }

  /** All values of the name, as typed. */
  all(name: string): readonly string[] {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : [];
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    const texts = values
      .filter((each) => typeof each === 'string')
      .map((text) => text.replaceAll('\r\n', '\n'));
    this.#texts.set(name, texts);
    return texts;
  }

  /** The text as typed; '' if absent. */
  text(name: string): string {
    return this.all(name).at(-1) ?? '';
  }

  /** Value of a field that only some forms have; undefined if the form lacks it. */
  sent(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  /** Value of a field that an empty input leaves unchanged. */
  given(name: string): string | undefined {
    return this.text(name).trim() === '' ? undefined : this.text(name);
  }

  /** Value of a field that an empty input clears; undefined if the form lacks it. */
  cleared(name: string): string | null | undefined {
    if (!this.has(name)) return undefined;
    return this.text(name).trim() === '' ? null : this.text(name);
  }

  /** Id of a choice, null for none of them; undefined if the form lacks it. */
  chosen(name: string): string | null | undefined {
    return this.text(name) === NONE ? null : this.cleared(name);
  }

  /** The same form with other values for some of its names. */
  replaced(values: Readonly<Record<string, readonly string[]>>): FormValues {
    const body = { ...this.#values, ...values };
    if (this.shown === null) return new FormValues(body);
    const whole = this.whole === this ? { ...body } : { ...this.whole.#values, ...values };
    return new FormValues(body, { shown: this.shown, whole: new FormValues(whole) });
  }

  /** Browsers omit unticked boxes: the form declares its boxes by a hidden twin with the value ''. */
  checked(name: string): boolean {
    return this.text(name) !== '';
  }

  /** The same for a box that only some forms have; undefined if the form lacks it. */
  ticked(name: string): boolean | undefined {
    return this.has(name) ? this.checked(name) : undefined;
  }

  /** @throws invalid unless it is a number, and for one that was emptied; undefined if nothing was typed. */
  number(name: string): number | undefined {
    const text = this.given(name);
    if (text === undefined) {
      if (this.are_changes && this.has(name)) throw emptied(name);
      return undefined;
    }
    const value = Number(text.trim());
    if (!Number.isFinite(value)) throw invalid(said`${name} must be a number`);
    return value;
  }

  /** Number of a field that an empty input clears; undefined if the form lacks it. @throws invalid unless it is a number */
  clearedNumber(name: string): number | null | undefined {
    return this.cleared(name) === null ? null : this.number(name);
  }

  /** @throws invalid unless it is JSON; undefined if nothing was typed. */
  json(name: string): unknown {
    const text = this.given(name);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw invalid(said`${name} is not valid JSON`);
    }
  }

  /** JSON of a field that an empty input leaves without entries; undefined if the form lacks it. @throws invalid unless it is JSON */
  entries(name: string): unknown {
    return this.has(name) ? (this.json(name) ?? {}) : undefined;
  }
}
