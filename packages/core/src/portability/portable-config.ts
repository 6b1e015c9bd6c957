/** The exportable part of a configuration: the keys known to its adapter, without secret values. Pure. */
import { adapterConfigs, isAdapterType, SECRET_NAME } from '@acp/contract';
import { parseRepositoryUrl } from '@acp/kernel';

/** Names commonly given to secret values. */
const secretive =
  /key|token|secret|pass(word|wd|phrase)?|credential|auth|cookie|session|private|dsn|connection/i;
export const isSecretive = (name: string): boolean => secretive.test(name);
const reference = new RegExp(`^\\$\\{secret:${SECRET_NAME}\\}$`);
const secretName = new RegExp(`^${SECRET_NAME}$`);

/**
 * Drops keys that are not in the adapter's schema, since they have no effect. A variable with a secretive name becomes a
 * reference to a secret of that name.
 */
export function portableConfig(adapter_type: string, config: unknown): Record<string, unknown> {
  const { schema } = adapterConfigs[isAdapterType(adapter_type) ? adapter_type : 'llm'];
  const known = (schema as unknown as { properties: object }).properties;
  const kept = Object.entries((config ?? {}) as Record<string, unknown>).flatMap(([key, value]) => {
    if (!Object.hasOwn(known, key)) return [];
    if (key === 'env') return [[key, portableEnvironment(value)] as const];
    if (key === 'base_url') return [[key, withoutCredentials(String(value))] as const];
    return [[key, value] as const];
  });
  return Object.fromEntries(kept);
}

export function portableEnvironment(env: unknown): Record<string, string> {
  const variables = Object.entries((env ?? {}) as Record<string, string>);
  return Object.fromEntries(
    variables.flatMap(([name, value]) => {
      if (!isSecretive(name) || reference.test(value)) return [[name, value] as const];
      const named = name.toUpperCase().replace(/^_+/, '');
      return secretName.test(named) ? [[name, `\${secret:${named}}`] as const] : [];
    }),
  );
}

/** A URL without user, password, query and fragment; anything that is not a URL (`git@host:path`) stays unchanged. */
export function withoutCredentials<T extends string | null>(url: T): T {
  if (url === null || !/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (!parsed.username && !parsed.password && !parsed.search && !parsed.hash) return url;
  parsed.password = '';
  // The user of an ssh address is not secret, and is required.
  if (parsed.protocol !== 'ssh:') parsed.username = '';
  parsed.search = '';
  parsed.hash = '';
  return parsed.toString() as T;
}

/** Null for a repository that projects may no longer use. */
export function portableRepository(url: string | null): string | null {
  const bare = withoutCredentials(url);
  return bare !== null && parseRepositoryUrl(bare) === undefined ? null : bare;
}
