/** Git's access to an outside repository: through a proxy that leads only there, with a secret for it alone. */
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeRunFolder, Reach, startEgressProxy } from '@acp/adapters';
import {
  type Config,
  findProgram,
  type HostList,
  newId,
  parseRepositoryUrl,
  repositoryRoot,
  type RepositoryUrl,
} from '@acp/kernel';
import { gitConfiguration, GitError } from './git.ts';

export type RemoteConfig = Pick<Config, 'repository_egress' | 'repository_hosts' | 'repository_known_hosts'>;

interface RemoteAccess {
  url: string;
  env: Record<string, string>;
  /** Must not appear in messages. */
  secrets: string[];
  /** Whether a connection to the host was refused because the operator does not allow it. */
  refused(): boolean;
  close(): Promise<void>;
}

const CONNECT = join(repositoryRoot, 'apps/scheduler/src/workspaces/connect-through.ts');

/**
 * @param list the company's list of allowed hosts
 * @param secret an HTTPS token, `user:token`, or a private SSH key; null: none
 * @param met file that records the keys of SSH hosts reached before: a different key is refused later
 * Throws GitError for what the operator does not allow.
 */
export async function openRemote(
  config: RemoteConfig,
  repo_url: string,
  { secret, list }: { secret: string | null; list: HostList | null },
  met: string,
): Promise<RemoteAccess> {
  const remote = parseRepositoryUrl(repo_url);
  if (remote === undefined) throw new GitError('the repository’s URL is not allowed for git', null);
  const named = isNamed(config, remote);
  const policy = named ? 'any' : config.repository_egress;
  if (remote.protocol === 'http' && policy === 'public')
    throw new GitError('repositories without TLS are not allowed on this instance', null);
  const { host, port } = remote;
  if (list?.covers(host, port) === false)
    throw new GitError(`the company’s list of hosts does not have ${host}:${port}`, null);
  const reach = new Reach({ places: [{ host, port }], policy });
  const proxy = await startEgressProxy({ port: 0 }, reach);
  const way = { remote, proxy_port: proxy.port ?? 0 };
  try {
    const keys = { given: config.repository_known_hosts, met };
    const access = remote.protocol === 'ssh' ? await bySsh(way, secret, keys) : byHttp(way, secret);
    return {
      ...access,
      url: remote.url,
      refused: () => reach.hasRefused,
      close: async () => {
        await access.close();
        await proxy.close();
      },
    };
  } catch (err) {
    await proxy.close();
    throw err;
  }
}

function isNamed({ repository_hosts }: RemoteConfig, { host, port }: RepositoryUrl): boolean {
  const names = repository_hosts.map((name) => name.toLowerCase());
  return names.includes(host) || names.includes(`${host}:${port}`);
}

interface Way {
  remote: RepositoryUrl;
  proxy_port: number;
}

type Access = Pick<RemoteAccess, 'env' | 'secrets' | 'close'>;

/** The header is sent to the repository's origin only, and redirects are not followed. */
function byHttp({ remote, proxy_port }: Way, secret: string | null): Access {
  const origin = new URL(remote.url).origin;
  const pairs: [string, string][] = [['http.proxy', `http://127.0.0.1:${proxy_port}`]];
  const secrets: string[] = [];
  if (secret !== null) {
    const login = secret.trim();
    const pair = login.includes(':') ? login : `x-access-token:${login}`;
    const encoded = Buffer.from(pair).toString('base64');
    pairs.push([`http.${origin}/.extraHeader`, `Authorization: Basic ${encoded}`]);
    secrets.push(login, encoded, pair.slice(pair.indexOf(':') + 1));
  }
  return { env: gitConfiguration(pairs), secrets, close: async () => undefined };
}

/** While git runs, the key is in a file that no one else can read: ssh accepts it in no other way. */
async function bySsh(
  { proxy_port }: Way,
  secret: string | null,
  keys: { given: string | null; met: string },
): Promise<Access> {
  if (secret === null) throw new GitError('a repository by ssh needs a secret: a private key', null);
  if (findProgram('ssh') === undefined)
    throw new GitError('ssh is not installed on the scheduler’s machine: install the OpenSSH client', null);
  const folder = await makeRunFolder(newId());
  const key = join(folder, 'key');
  await writeFile(key, `${secret.trim()}\n`, { mode: 0o600 });
  await chmod(key, 0o600);
  const through = `${quote(process.execPath)} --disable-warning=ExperimentalWarning ${quote(CONNECT)} ${proxy_port} %h %p`;
  const options = [
    `ProxyCommand=${through}`,
    `IdentityFile=${key}`,
    'IdentitiesOnly=yes',
    // No key of the machine's user, and no prompts.
    'IdentityAgent=none',
    'PreferredAuthentications=publickey',
    'BatchMode=yes',
    // No one is there to compare fingerprints: unless the operator supplies keys, the first one seen is trusted from then on.
    `StrictHostKeyChecking=${keys.given === null ? 'accept-new' : 'yes'}`,
    `UserKnownHostsFile="${keys.given ?? keys.met}"`,
    'GlobalKnownHostsFile=/dev/null',
    'UpdateHostKeys=no',
    'ClearAllForwardings=yes',
  ];
  const command = ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', quote(option)])];
  return {
    env: { GIT_SSH_COMMAND: command.join(' '), GIT_SSH_VARIANT: 'ssh' },
    secrets: [secret.trim()],
    close: async () => rm(folder, { recursive: true, force: true }),
  };
}

const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
