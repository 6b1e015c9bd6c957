/**
 * Names for statements that come again: PostgreSQL then parses and plans them once a connection instead of each time,
 * which is more than half of what a read by primary key costs. Texts are ours and few; those made for one call (lists of
 * placeholders) must not fill the sessions, so a text gets its name when it is seen again, and only so many do.
 */
const MAX_NAMED = 500;
const MAX_SEEN = 2000;

export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #seen = new Set<string>();

  /** One text, one name; undefined for a text that is not worth one. */
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
