/**
 * A list of hosts that may be reached: `host`, `*.suffix` for everything below, each with `:port`, `:*` for any, or without
 * one for 443. What is compared are names as a URL would have them, so that no other spelling passes or is missed.
 */
import { isIP } from 'node:net';

export interface HostRule {
  /** Lower case, IPv6 without brackets; with a leading dot everything below. */
  host: string;
  /** Null: any. */
  port: number | null;
}

/** Of a company: what it lets out, whatever the service may reach. */
export class HostList {
  readonly rules: readonly HostRule[];

  constructor(rules: readonly HostRule[]) {
    this.rules = rules;
  }

  /** What can't be read is left out: it allows nothing. */
  static of(texts: readonly string[]): HostList {
    return new HostList(texts.map(readHostRule).filter((rule) => rule !== undefined));
  }

  covers(name: string, port: number): boolean {
    const host = bareHost(name);
    return (
      host !== undefined && this.rules.some((rule) => coversHost(rule, host) && (rule.port ?? port) === port)
    );
  }

  /** Of a URL; its port where it names none. */
  coversUrl(url: URL): boolean {
    return this.covers(url.hostname, portOf(url));
  }
}

export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  if (port !== '') return Number(port);
  return protocol === 'http:' || protocol === 'ws:' ? 80 : 443;
}

/** As it is written into a list; undefined for what is none. */
export function readHostRule(text: string): HostRule | undefined {
  const [, below = '', name = '', port = '443'] =
    /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s:/?#@*[\]]+)(?::(\*|\d{1,5}))?$/i.exec(text.trim()) ?? [];
  const host = bareHost(name);
  const number = port === '*' ? null : Number(port);
  if (host === undefined || (number !== null && (number < 1 || number > 65_535))) return undefined;
  if (below === '') return { host, port: number };
  // An address has nothing below it.
  return isIP(host) === 0 ? { host: `.${host}`, port: number } : undefined;
}

/** The one way to write it. */
export function writeHostRule({ host, port }: HostRule): string {
  const name = host.startsWith('.') ? `*${host}` : isIP(host) === 6 ? `[${host}]` : host;
  return port === 443 ? name : `${name}:${port ?? '*'}`;
}

function coversHost(rule: HostRule, host: string): boolean {
  return rule.host.startsWith('.') ? isIP(host) === 0 && host.endsWith(rule.host) : rule.host === host;
}

/** In lower case, international names in their ASCII form, addresses in their usual one, without a last dot. */
function bareHost(name: string): string | undefined {
  const written = isIP(name) === 6 ? `[${name}]` : name;
  if (written === '' || /[\s/?#@\\%]/.test(written)) return undefined;
  const url = `http://${written}/`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, pathname, port } = new URL(url);
  if (pathname !== '/' || port !== '') return undefined;
  const bare = hostname.replaceAll(/^\[|\]$/g, '').replace(/\.$/, '');
  return bare === '' ? undefined : bare;
}
