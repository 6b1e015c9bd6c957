import { invalid } from '@acp/kernel';

/** Values of a posted form; a name may come several times. */
export class FormValues {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(body: unknown) {
    this.#values = typeof body === 'object' && body !== null ? { ...body } : {};
  }

  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name);
  }

  /** All that came by the name, as it was typed. */
  all(name: string): readonly string[] {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : [];
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.filter((each) => typeof each === 'string').map((text) => text.replaceAll('\r\n', '\n'));
  }

  /** The text as it was typed; '' where it is absent. */
  text(name: string): string {
    return this.all(name).at(-1) ?? '';
  }

  /** For fields of which a form has only some; undefined where it lacks this one. */
  sent(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  /** For fields that an empty input leaves alone. */
  given(name: string): string | undefined {
    return this.text(name).trim() === '' ? undefined : this.text(name);
  }

  /** For fields that an empty input clears; undefined where the form lacks the field. */
  cleared(name: string): string | null | undefined {
    if (!this.has(name)) return undefined;
    return this.text(name).trim() === '' ? null : this.text(name);
  }

  /** Browsers leave an unticked box out: the form names its boxes by a hidden twin of value ''. */
  checked(name: string): boolean {
    return this.text(name) !== '';
  }

  /** @throws invalid for what is no number; undefined where nothing was typed. */
  number(name: string): number | undefined {
    const text = this.given(name);
    if (text === undefined) return undefined;
    const value = Number(text.trim());
    if (!Number.isFinite(value)) throw invalid(`${name} must be a number`);
    return value;
  }

  /** @throws invalid for what is no JSON; undefined where nothing was typed. */
  json(name: string): unknown {
    const text = this.given(name);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw invalid(`${name} is no valid JSON`);
    }
  }
}
