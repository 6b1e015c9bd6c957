/**
 * The client's address behind reverse proxies (decisions 7.31). Anyone can write `X-Forwarded-For`; only the part appended
 * by our own proxies can be trusted, and it is read from the right.
 */
import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface TrustedProxies {
  /** The configured networks in CIDR form, for the log and `doctor`. */
  readonly networks: readonly string[];
  includes(address: string): boolean;
}

/**
 * Parses a comma-separated list of CIDRs or single addresses; an empty list trusts no one.
 * Throws an Error that names an entry which is neither.
 */
export function parseTrustedProxies(list: string): TrustedProxies {
  const networks = list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseNetwork);
  return {
    networks: networks.map(([address, bits]) => `${address.toString()}/${bits}`),
    includes(text) {
      const address = parseAddress(text);
      return address !== null && networks.some((network) => contains(network, address));
    },
  };
}

/**
 * The client's address: the socket's, unless that is a trusted proxy; then the rightmost untrusted entry of
 * `X-Forwarded-For`. If every entry is trusted it is the leftmost, and an entry that is not an address ends the search at the
 * proxy that forwarded it. An unknown socket (already closed) gives an empty string.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trusted: TrustedProxies,
): string {
  let client = canonicalAddress(socketAddress ?? '') ?? '';
  if (!forwardedFor || trusted.networks.length === 0) return client;
  for (const entry of forwardedFor.split(',').toReversed()) {
    if (!trusted.includes(client)) return client;
    const next = canonicalAddress(withoutPort(entry.trim()));
    if (next === null) return client;
    client = next;
  }
  return client;
}

/** One spelling per address (mapped IPv4 as IPv4, IPv6 compressed), usable as a key; null if it is not an address. */
export function canonicalAddress(text: string): string | null {
  return parseAddress(text)?.toString() ?? null;
}

/** Parses an address by the strict rules of node:net; ipaddr.js alone would accept `10.1`, `0x7f.1` and octal. */
export function parseAddress(text: string): Address | null {
  const zone = text.indexOf('%');
  const bare = zone === -1 ? text : text.slice(0, zone);
  return isIP(bare) === 0 ? null : ipaddr.process(bare);
}

function parseNetwork(entry: string): [Address, number] {
  const slash = entry.indexOf('/');
  const text = slash === -1 ? entry : entry.slice(0, slash);
  const version = isIP(text);
  const width = version === 4 ? 32 : 128;
  const bits = slash === -1 ? String(width) : entry.slice(slash + 1);
  if (version === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > width) {
    throw new Error(`"${entry}" is neither an IP address nor a CIDR such as 10.0.0.0/8`);
  }
  const address = ipaddr.parse(text);
  // A mapped network is an IPv4 network in disguise; addresses are compared as IPv4 too.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && Number(bits) >= 96) {
    return [address.toIPv4Address(), Number(bits) - 96];
  }
  return [address, Number(bits)];
}

function contains([network, bits]: [Address, number], address: Address): boolean {
  return network.kind() === address.kind() && address.match([network, bits]);
}

// `1.2.3.4:5678` and `[2001:db8::1]:5678`, as some proxies write them.
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(entry);
  if (bracketed?.[1]) return bracketed[1];
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry;
}
