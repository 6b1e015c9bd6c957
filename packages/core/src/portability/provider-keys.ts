/** Where the key of an imported provider comes from (specification, Providers; decisions 3, Portability). Pure. */
import type { BundleOf, ProviderKeys } from '@acp/contract';
import { invalid } from '@acp/kernel';
import { keyOf, placeOf } from './bundle-places.ts';

export interface KeySources {
  /** What the importer brings, by label. */
  given: ProviderKeys;
  /** SERVICE_IMPORT_KEY_ENVS: variables that anybody's import may read. */
  allowed_envs: readonly string[];
  /** Instance admins may read any variable that looks like a key. */
  any_env: boolean;
  readEnv: (name: string) => string | undefined;
}

const keyVariable = /^[A-Za-z_][A-Za-z0-9_]*_API_KEY$/;

export interface FoundKey {
  api_key: string;
  /** The variable that it comes from; null where the importer brought it. */
  variable: string | null;
}

/**
 * By label, for those that have one.
 * @throws invalid for a variable that may not be named, and for a given key that no provider takes
 */
export function providerKeys(
  providers: readonly BundleOf<'providers'>[],
  { given, allowed_envs, any_env, readEnv }: KeySources,
): Map<string, FoundKey> {
  const byLabel = new Map(Object.entries(given).map(([label, key]) => [keyOf('providers', label), key]));
  const found = new Map<string, FoundKey>();
  for (const [index, { label, api_key_env: env }] of providers.entries()) {
    const place = placeOf('providers', index, 'api_key_env');
    if (env !== null && env !== undefined) {
      if (!keyVariable.test(env)) throw invalid(`${place} must be a name that ends in _API_KEY`);
      if (/^SERVICE_/i.test(env)) throw invalid(`${place} must not begin with SERVICE_`);
      if (!any_env && !allowed_envs.includes(env))
        throw invalid(`${place}: ${env} does not stand in SERVICE_IMPORT_KEY_ENVS`);
    }
    const key = keyOf('providers', label);
    const brought = byLabel.get(key);
    byLabel.delete(key);
    const set = env ? readEnv(env)?.trim() : undefined;
    if (brought !== undefined) found.set(key, { api_key: brought, variable: null });
    else if (env && set) found.set(key, { api_key: set, variable: env });
  }
  const [unknown] = byLabel.keys();
  if (unknown !== undefined) throw invalid(`provider_keys: no provider of the bundle is called ${unknown}`);
  return found;
}
