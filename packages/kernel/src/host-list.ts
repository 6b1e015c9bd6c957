/**
 * A list of reachable hosts: `host`, or `*.suffix` for everything below it, each with `:port`, `:*` for any port, or without
 * one for 443. Names are compared in the form a URL parser gives them, so no alternative spelling slips through or misses.
 */
import { isIP } from 'node:net';

interface HostRule {
  /** Lower case, IPv6 without brackets; a leading dot matches everything below. */
  host: string;
  /** Null: any port. */
  port: number | null;
}

/** A company's allow-list: what it permits among everything the service can reach. */
export class HostList {
  readonly rules: readonly HostRule[];

  constructor(rules: readonly HostRule[]) {
    this.rules = rules;
  }

  /** Unreadable entries are skipped: they allow nothing. */
  static of(texts: readonly string[]): HostList {
    return new HostList(texts.map(readHostRule).filter((rule) => rule !== undefined));
  }

  covers(name: string, port: number): boolean {
    const host = canonicalHost(name);
    return (
      host !== undefined && this.rules.some((rule) => coversHost(rule, host) && (rule.port ?? port) === port)
    );
  }

  /** Uses the scheme's default port when the URL names none. */
  coversUrl(url: URL): boolean {
    return this.covers(url.hostname, portOf(url));
  }
}

export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  if (port !== '') return Number(port);
  return protocol === 'http:' || protocol === 'ws:' ? 80 : 443;
}

/** Parses one entry of a list; undefined if it is invalid. */
export function readHostRule(text: string): HostRule | undefined {
  const [, below = '', name = '', port = '443'] =
    /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s:/?#@*[\]]+)(?::(\*|\d{1,5}))?$/i.exec(text.trim()) ?? [];
  const host = canonicalHost(name);
  const number = port === '*' ? null : Number(port);
  if (host === undefined || (number !== null && (number < 1 || number > 65_535))) return undefined;
  if (below === '') return { host, port: number };
  // An IP address has nothing below it.
  return isIP(host) === 0 ? { host: `.${host}`, port: number } : undefined;
}

/** The canonical spelling. */
export function writeHostRule({ host, port }: HostRule): string {
  const name = host.startsWith('.') ? `*${host}` : isIP(host) === 6 ? `[${host}]` : host;
  return port === 443 ? name : `${name}:${port ?? '*'}`;
}

function coversHost(rule: HostRule, host: string): boolean {
  return rule.host.startsWith('.') ? isIP(host) === 0 && host.endsWith(rule.host) : rule.host === host;
}

/**
 * Lower case, international names in ASCII, addresses in their usual form however they are spelled (`0x7f.1`), without brackets
 * and trailing dot; undefined for what is no host.
 */
export function canonicalHost(name: string): string | undefined {
  const written = isIP(name) === 6 ? `[${name}]` : name;
  if (written === '' || /[\s/?#@\\%]/.test(written)) return undefined;
  const url = `http://${written}/`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, pathname, port } = new URL(url);
  if (pathname !== '/' || port !== '') return undefined;
  const bare = hostname.replaceAll(/^\[|\]$/g, '').replace(/\.$/, '');
  return bare === '' ? undefined : bare;
}
