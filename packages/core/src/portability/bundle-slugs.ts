import { slugOf } from '../skills/index.ts';

/**
 * Names of things within a bundle, made of what they are called, in the order in which they come: the same things in the
 * same order have the same slugs. Pure.
 */
export class BundleSlugs {
  readonly #byId = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #kind: string;
  readonly #clean: (text: string) => string;

  /**
   * @param kind what something without a letter in its name is called
   * @param clean takes out what must not leave: a slug would carry it along in another spelling
   */
  constructor(kind: string, clean: (text: string) => string) {
    this.#kind = kind;
    this.#clean = clean;
  }

  add(id: string, name: string): string {
    const base = slugOf(this.#clean(name)) || this.#kind;
    let slug = base;
    for (let n = 2; this.#taken.has(slug); n += 1) slug = `${base}-${n}`;
    this.#taken.add(slug);
    this.#byId.set(id, slug);
    return slug;
  }

  /** Null for what is not in the bundle: in the trash, or left out. */
  of(id: string | null): string | null {
    return id === null ? null : (this.#byId.get(id) ?? null);
  }
}
