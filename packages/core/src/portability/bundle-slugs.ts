import { slugOf } from '../skills/index.ts';

/**
 * Slugs of entities within a bundle, derived from their names in the given order: the same entities in the same order get the
 * same slugs. Pure.
 */
export class BundleSlugs {
  readonly #byId = new Map<string, string>();
  readonly #taken = new Set<string>();
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
    for (let n = 2; this.#taken.has(slug); n += 1) slug = `${base}-${n}`;
    this.#taken.add(slug);
    this.#byId.set(id, slug);
    return slug;
  }

  /** Null for entities outside of the bundle: in the trash, or left out. */
  of(id: string | null): string | null {
    return id === null ? null : (this.#byId.get(id) ?? null);
  }
}
