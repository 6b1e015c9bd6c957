/**
 * Names for recurring statements: PostgreSQL then parses and plans them once per connection instead of every time, which is
 * more than half the cost of a primary-key read. Our statement texts are few, but one-off texts (lists of placeholders)
 * must not fill the sessions, so a text is named when it is seen a second time, up to a maximum number.
 */
const MAX_NAMED = 500;
const MAX_SEEN = 2000;

export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #seen = new Set<string>();

  /** The same text always gets the same name; undefined for a text that is not worth one. */
  nameOf(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= MAX_NAMED) return name;
    if (this.#seen.delete(text)) {
      const fresh = `s${this.#names.size + 1}`;
      this.#names.set(text, fresh);
      return fresh;
    }
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
    this.#seen.add(text);
    return undefined;
  }
}
