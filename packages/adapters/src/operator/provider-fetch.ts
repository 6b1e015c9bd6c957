import { createGuardedFetch } from '@acp/kernel';
import type { Config, GuardedFetch } from '@acp/kernel';

export type ReachConfig = Pick<Config, 'provider_egress' | 'llm_allowed_hosts'>;

// Each has its own connections: one per address in use, with the least recently used evicted.
const fetches = new Map<string, GuardedFetch>();
const MAX_FETCHES = 100;

/** A key is only sent to its own base URL or where the operator allows (decisions 7.33); that includes redirects. */
export function fetchFor(
  { provider_egress, llm_allowed_hosts }: ReachConfig,
  base_url: string | null,
): GuardedFetch {
  const host = base_url === null ? null : new URL(base_url).host;
  const name = `${provider_egress} ${host ?? ''} ${llm_allowed_hosts.join()}`;
  const only = host === null ? {} : { only_hosts: [host, ...llm_allowed_hosts] };
  const known = fetches.get(name) ?? createGuardedFetch({ egress: provider_egress, ...only });
  fetches.delete(name);
  fetches.set(name, known);
  const [oldest] = fetches.keys();
  if (fetches.size > MAX_FETCHES && oldest !== undefined) fetches.delete(oldest);
  return known;
}
