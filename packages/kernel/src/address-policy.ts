/**
 * Which addresses outgoing requests may reach. `public` allows only the public internet; `any` allows private networks
 * too. Cloud metadata services hand credentials to any caller, so neither policy allows them (decisions 1).
 */
import ipaddr from 'ipaddr.js';
import { parseAddress } from './trusted-proxies.ts';

export type EgressPolicy = 'public' | 'any';

// Not all of these are link-local: some clouds serve metadata on shared, protocol or even public addresses.
const metadataAddresses: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fe80::a9fe:a9fe',
]);

/** Whether connecting to an address is forbidden; anything that is not an IP address literal is forbidden too. */
export function isForbiddenAddress(text: string, policy: EgressPolicy): boolean {
  const address = parseAddress(text);
  if (!address) return true;
  const carried = address instanceof ipaddr.IPv6 ? carriedAddress(address) : null;
  if (metadataAddresses.has(address.toString()) || (carried && metadataAddresses.has(carried))) return true;
  // ipaddr.js classifies IPv4-compatible ::a.b.c.d as ordinary unicast.
  return policy === 'public' && (address.range() !== 'unicast' || carried !== null);
}

/** The IPv4 address that a translator or tunnel may turn an IPv6 one into; mapped addresses are already IPv4. */
function carriedAddress(address: ipaddr.IPv6): string | null {
  const bytes = address.toByteArray();
  const range = address.range();
  if (range === '6to4') return bytes.slice(2, 6).join('.');
  const isCompatible = bytes.slice(0, 12).every((byte) => byte === 0);
  const isTranslated = range === 'rfc6052' || range === 'rfc6145';
  return isCompatible || isTranslated ? bytes.slice(12).join('.') : null;
}
