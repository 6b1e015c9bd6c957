/** Sources of keys for imported providers (specification, Providers; decisions 3, Portability). Pure. */
import type { BundleOf, ProviderKeys } from '@acp/contract';
import { invalid, said } from '@acp/kernel';
import { keyOf, placeOf } from './bundle-places.ts';

export interface KeySources {
  /** Keys given by the importer, by label. */
  given: ProviderKeys;
  /** SERVICE_IMPORT_KEY_ENVS: variables that any import may read. */
  allowed_envs: readonly string[];
  /** SERVICE_LLM_ALLOWED_HOSTS: where keys of the environment may be sent besides the families' own addresses. */
  allowed_hosts: readonly string[];
  /** Whether any variable that looks like a key may be read and sent anywhere: for instance admins. */
  any_env: boolean;
  readEnv: (name: string) => string | undefined;
}

const keyVariable = /^[A-Za-z_][A-Za-z0-9_]*_API_KEY$/;

export interface FoundKey {
  api_key: string;
  /** The variable that it was read from; null if the importer gave it. */
  variable: string | null;
}

/**
 * Keys by label; providers without one are absent. A company's admins may use the operator's keys but not see them, so those are
 * never sent to addresses chosen by them.
 * @throws invalid for a variable that may not be named or sent there, and for a given key that no provider uses
 */
export function providerKeys(
  providers: readonly BundleOf<'providers'>[],
  { given, allowed_envs, allowed_hosts, any_env, readEnv }: KeySources,
): Map<string, FoundKey> {
  const byLabel = new Map(Object.entries(given).map(([label, key]) => [keyOf('providers', label), key]));
  const found = new Map<string, FoundKey>();
  const hosts = allowed_hosts.map((host) => host.toLowerCase());
  for (const [index, { label, api_key_env: env, base_url }] of providers.entries()) {
    const place = placeOf('providers', index, 'api_key_env');
    if (env !== null && env !== undefined) {
      if (!keyVariable.test(env)) throw invalid(said`${place} must be a name that ends in _API_KEY`);
      if (/^SERVICE_/i.test(env)) throw invalid(said`${place} must not begin with SERVICE_`);
      if (!any_env && !allowed_envs.includes(env))
        throw invalid(said`${place}: ${env} is not listed in SERVICE_IMPORT_KEY_ENVS`);
    }
    const key = keyOf('providers', label);
    const brought = byLabel.get(key);
    byLabel.delete(key);
    if (env && brought === undefined && !any_env && base_url && !isAmong(hosts, base_url))
      throw invalid(
        said`${place}: the key of ${env} goes to no base_url but of SERVICE_LLM_ALLOWED_HOSTS: bring a key in provider_keys`,
      );
    const set = env ? readEnv(env)?.trim() : undefined;
    if (brought !== undefined) found.set(key, { api_key: brought, variable: null });
    else if (env && set) found.set(key, { api_key: set, variable: env });
  }
  const [unknown] = byLabel.keys();
  if (unknown !== undefined) throw invalid(said`provider_keys: the bundle has no provider called ${unknown}`);
  return found;
}

function isAmong(hosts: readonly string[], base_url: string): boolean {
  const { host, hostname } = new URL(base_url);
  return hosts.includes(host) || hosts.includes(hostname);
}
