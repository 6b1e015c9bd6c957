import { slugOf } from '../skills/index.ts';

/**
 * Slugs of entities within a bundle, derived from their names in the given order: the same entities in the same order get the
 * same slugs. Pure.
 */
export class BundleSlugs {
  readonly #byId = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** By slug: the number that its next twin may have. All that are lower are taken. */
  readonly #next = new Map<string, number>();
  readonly #kind: string;
  readonly #clean: (text: string) => string;

  /**
   * @param kind slug of entities whose names contain no usable characters
   * @param clean removes secrets from a name, which the slug would otherwise reveal in another spelling
   */
  constructor(kind: string, clean: (text: string) => string) {
    this.#kind = kind;
    this.#clean = clean;
  }

  add(id: string, name: string): string {
    const base = slugOf(this.#clean(name)) || this.#kind;
    let slug = base;
    let number = this.#next.get(base) ?? 2;
    for (; this.#taken.has(slug); number += 1) slug = `${base}-${number}`;
    this.#next.set(base, number);
    this.#taken.add(slug);
    this.#byId.set(id, slug);
    return slug;
  }

  /** Null for entities outside of the bundle: in the trash, or left out. */
  of(id: string | null): string | null {
    return id === null ? null : (this.#byId.get(id) ?? null);
  }
}
