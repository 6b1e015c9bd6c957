/** Places in a bundle, as shown in errors: `bundle.agents.3.reports_to`. Pure. */
import type { BundleList, BundleOf, CompanyBundle } from '@acp/contract';
import { invalid, said, ServiceError } from '@acp/kernel';

/** The fields by which entities of a list are referenced. Notes and budget policies are never referenced. */
export const nameFields = {
  labels: 'name',
  providers: 'label',
  skills: 'slug',
  agents: 'slug',
  goals: 'slug',
  projects: 'slug',
  routines: 'slug',
  issues: 'slug',
} as const;
export type NamedList = keyof typeof nameFields;

export const listOf = <L extends BundleList>(bundle: CompanyBundle, list: L): readonly BundleOf<L>[] =>
  bundle[list] ?? [];

export const placeOf = (list: BundleList, index: number, field?: string): string =>
  `bundle.${list}.${index}${field === undefined ? '' : `.${field}`}`;

/** Labels and provider names are case-insensitive. */
export const keyOf = (list: NamedList, name: string): string =>
  list === 'labels' || list === 'providers' ? name.trim().toLowerCase() : name;

/** Positions of all names, by list. @throws invalid for a duplicate */
export function indexNames(bundle: CompanyBundle): Record<NamedList, ReadonlyMap<string, number>> {
  const found: Partial<Record<NamedList, ReadonlyMap<string, number>>> = {};
  for (const [list, field] of Object.entries(nameFields) as [NamedList, string][]) {
    const names = new Map<string, number>();
    for (const [index, entity] of listOf(bundle, list).entries()) {
      const key = keyOf(list, String(Reflect.get(entity, field)));
      const first = names.get(key);
      if (first !== undefined)
        throw invalid(said`${placeOf(list, index, field)} is the same as ${placeOf(list, first, field)}`);
      names.set(key, index);
    }
    found[list] = names;
  }
  return found as Record<NamedList, ReadonlyMap<string, number>>;
}

/** Prefixes errors of a check with their place. */
export function at<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.kind, said`${place}: ${error.said}`, { cause: error });
  }
}
