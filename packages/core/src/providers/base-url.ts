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
  if (isForbiddenLiteral(url.hostname, egress))
    throw invalid(said`${field} names an address that may not be reached`);
}

/** Hosts on private addresses that the operator allows for a purpose, and the variable that lists them. */
interface AllowedHosts {
  /** `name` or `name:port`. */
  allowed_hosts: readonly string[];
  variable: string;
}

/**
 * The same for URLs that a company names and the operator allows host by host: public addresses, or a listed host. Host names
 * are checked when they are resolved, on every request. @throws invalid
 */
export function assertAllowedUrl(text: string, { allowed_hosts, variable }: AllowedHosts): void {
  assertBaseUrl(text, { egress: 'any' }, 'url');
  const { host, hostname } = new URL(text);
  if (allowed_hosts.some((each) => [host, hostname].includes(each.toLowerCase()))) return;
  if (isForbiddenLiteral(hostname, 'public'))
    throw invalid(said`url names a private address: only the operator can allow it, in ${variable}`);
}

/** Names are not literals. */
function isForbiddenLiteral(hostname: string, egress: EgressPolicy): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && isForbiddenAddress(host, egress);
}
