import { isIP } from 'node:net';
import { type EgressPolicy, invalid, isForbiddenAddress } from '@acp/kernel';

/** What the operator lets providers reach (SERVICE_PROVIDER_EGRESS). */
export interface ProviderRules {
  egress: EgressPolicy;
}

/**
 * Refuses what could never be called: no http(s) URL, one with a password, and an address that the egress rule forbids.
 * Names are held to the rule when they are resolved, at each call. @throws invalid
 */
export function assertBaseUrl(text: string, { egress }: ProviderRules, field = 'base_url'): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalid(`${field} must be an http(s) URL`);
  if (url.username !== '' || url.password !== '') throw invalid(`${field} must not hold a password`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isForbiddenAddress(host, egress))
    throw invalid(`${field} names an address that may not be reached`);
}
