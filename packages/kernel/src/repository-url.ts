/** Location of a git repository as a tenant may give it: https, http or ssh, without a password. */
export interface RepositoryUrl {
  protocol: 'https' | 'http' | 'ssh';
  /** Lower case, IPv6 without brackets. */
  host: string;
  port: number;
  /** ssh only. */
  user: string | null;
  /** Without the leading slash. */
  path: string;
  /** Normalised form that is passed to git; equal for equal repositories. */
  url: string;
}

const ports = { https: 443, http: 80, ssh: 22 } as const;
const HOST = /^(?!-)[a-z0-9._-]+$|^[0-9a-f:.]+$/;
const USER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const PATH = /^(?!-)[\w.~+%@/:-]+$/;

/**
 * Undefined for everything else: local paths, other transports (`file:`, `ext::`), anything git or ssh would take for an
 * option, and passwords, which would be shown and logged wherever the URL is.
 */
export function parseRepositoryUrl(text: string): RepositoryUrl | undefined {
  const scp = /^(?:([^@/\s]+)@)([^:/\s[\]]+):(?!\/\/)(.+)$/.exec(text);
  if (scp !== null) return checked('ssh', scp[1]!, scp[2]!.toLowerCase(), 22, scp[3]!);
  if (!/^(https?|ssh):\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  const name = protocol.slice(0, -1) as RepositoryUrl['protocol'];
  if (password !== '' || search !== '' || hash !== '' || (username !== '' && name !== 'ssh'))
    return undefined;
  const host = hostname.toLowerCase().replaceAll(/^\[|\]$/g, '');
  return checked(name, username || null, host, Number(port) || ports[name], pathname.slice(1));
}

function checked(
  protocol: RepositoryUrl['protocol'],
  user: string | null,
  host: string,
  port: number,
  path: string,
): RepositoryUrl | undefined {
  const whole = path.replace(/\/+$/, '');
  if (!HOST.test(host) || (user !== null && !USER.test(user))) return undefined;
  if (!PATH.test(whole) || whole.split('/').some((name) => name === '..' || name === '.')) return undefined;
  const shown = host.includes(':') ? `[${host}]` : host;
  const at = user === null ? '' : `${user}@`;
  const by = port === ports[protocol] ? '' : `:${port}`;
  return { protocol, host, port, user, path: whole, url: `${protocol}://${at}${shown}${by}/${whole}` };
}
