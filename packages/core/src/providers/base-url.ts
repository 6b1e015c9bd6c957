import { isIP } from 'node:net';
import { type EgressPolicy, invalid, isForbiddenAddress, said } from '@acp/kernel';

/** What the operator allows providers to reach (SERVICE_PROVIDER_EGRESS). */
export interface ProviderRules {
  egress: EgressPolicy;
}

/**
 * Rejects URLs that could never be called: not http(s), containing a password, or with an address that the egress policy
 * forbids. Host names are checked when they are resolved, on every call. @throws invalid
 */
export function assertBaseUrl(text: string, { egress }: ProviderRules, field = 'base_url'): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalid(said`${field} must be an http(s) URL`);
  if (url.username !== '' || url.password !== '') throw invalid(said`${field} must not hold a password`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isForbiddenAddress(host, egress))
    throw invalid(said`${field} names an address that may not be reached`);
}

/**
 * The same for URLs that a company names and the operator allows host by host: public addresses, or a listed host with or
 * without port. Host names are checked when they are resolved, on every request. @throws invalid
 */
export function assertAllowedUrl(text: string, allowed_hosts: readonly string[], field = 'url'): void {
  assertBaseUrl(text, { egress: 'any' }, field);
  const { host, hostname } = new URL(text);
  const allowed = allowed_hosts.some((each) => [host, hostname].includes(each.toLowerCase()));
  if (!allowed) assertBaseUrl(text, { egress: 'public' }, field);
}
