/** Maps a bundle's names to ids, existing or new, while it becomes rows. Pure. */
import type { BundleList, BundleOf, CompanyBundle, ImportedCompany } from '@acp/contract';
import { bundleLists } from '@acp/contract';
import { newId } from '@acp/kernel';
import { keyOf, listOf, nameFields, type NamedList } from './bundle-places.ts';
import type { Existing } from './match-existing.ts';

export type WithId<T> = T & { readonly id: string };

export class BundleIds {
  readonly #bundle: CompanyBundle;
  readonly #existing: Existing;
  readonly #ids = new Map<NamedList, Map<string, string>>();
  readonly #fresh = new Map<BundleList, WithId<unknown>[]>();
  readonly skipped: ImportedCompany['skipped'] = [];

  constructor(bundle: CompanyBundle, existing: Existing) {
    this.#bundle = bundle;
    this.#existing = existing;
    for (const list of bundleLists) this.#assign(list);
  }

  /** Entities to be created, in the bundle's order, with their ids, which are in the same order. */
  fresh<L extends BundleList>(list: L): readonly WithId<BundleOf<L>>[] {
    return (this.#fresh.get(list) ?? []) as unknown as readonly WithId<BundleOf<L>>[];
  }

  /** The id of a name whose existence was checked with the bundle. */
  of(list: NamedList, name: string): string {
    return this.#ids.get(list)!.get(keyOf(list, name))!;
  }

  ref(list: NamedList, name: string | null | undefined): string | null {
    return name === null || name === undefined ? null : this.of(list, name);
  }

  #assign(list: BundleList): void {
    const entities = listOf(this.#bundle, list) as readonly Record<string, unknown>[];
    const twins = this.#existing.get(list);
    // All rows of an import have the same timestamp, so they are ordered by their ids.
    const ids = entities.map(() => newId()).toSorted();
    const names = new Map<string, string>();
    const fresh: WithId<unknown>[] = [];
    for (const [index, entity] of entities.entries()) {
      const twin = twins?.get(index);
      const id = twin ?? ids[index]!;
      if (Object.hasOwn(nameFields, list))
        names.set(keyOf(list as NamedList, String(entity[nameFields[list as NamedList]])), id);
      if (twin === undefined) fresh.push({ ...entity, id });
      else this.skipped.push({ type: list, name: calledIn(entity), reason: 'the company has it already' });
    }
    this.#ids.set(list as NamedList, names);
    this.#fresh.set(list, fresh);
  }
}

function calledIn(entity: Record<string, unknown>): string {
  return String(entity.name ?? entity.title ?? entity.label ?? entity.slug);
}
