/** A repository over SSH: a real server on loopback, with this test's own keys. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram, loadConfig, newId } from '@acp/kernel';
import { freePort, type GitServer, startGitServer, waitFor } from '@acp/testkit';
import { RepositoryCache } from './repository-cache.ts';

const run = promisify(execFile);
const SSHD = '/usr/sbin/sshd';
const withSsh: typeof describe.skip =
  existsSync(SSHD) && findProgram('ssh-keygen') !== undefined ? describe : describe.skip;
const { signal } = new AbortController();

let folder: string;
let server: GitServer;
let port: number;
let sshd: ChildProcess;

async function startSshd(hostKey: string): Promise<void> {
  const config = path.join(folder, 'sshd_config');
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${path.join(folder, hostKey)}`,
    `AuthorizedKeysFile ${path.join(folder, 'key.pub')}`,
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin yes',
    `PidFile ${path.join(folder, 'sshd.pid')}`,
  ];
  await writeFile(config, `${lines.join('\n')}\n`);
  sshd = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: 'ignore' });
  const answers = async () =>
    new Promise<boolean>((done) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => done(true)).once('error', () => done(false));
      socket.once('connect', () => socket.destroy());
    });
  await waitFor(answers, { what: 'sshd' });
}

async function stopSshd(): Promise<void> {
  const ended = new Promise((done) => sshd.once('exit', done));
  sshd.kill('SIGTERM');
  await ended;
}

async function stage(env: Record<string, string> = {}) {
  const home = path.join(folder, newId());
  await mkdir(home);
  const config = loadConfig({ SERVICE_HOME: home, SERVICE_REPOSITORY_HOSTS: '127.0.0.1', ...env });
  const cache = new RepositoryCache(config);
  const repo_url = `ssh://${userInfo().username}@127.0.0.1:${port}${server.folder}`;
  const fetched = async (key: string | null, company_id = newId()) => {
    const secret = key === null ? null : await readFile(path.join(folder, key), 'utf8');
    const repository = { company_id, repo_url, secret, list: null };
    const { folder: copy } = await cache.fetched(repository, { max_age_ms: 0, tolerant: false, signal });
    return { repository, copy };
  };
  return { cache, fetched };
}

withSsh('a repository by ssh', () => {
  beforeAll(async () => {
    folder = await mkdtemp('/var/tmp/ssh-remote-test-');
    server = await startGitServer({ 'a.txt': 'a\n' });
    for (const name of ['host', 'other-host', 'key', 'strange-key'])
      await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path.join(folder, name)]);
    // The server requires it when started by root.
    await mkdir('/run/sshd', { recursive: true }).catch(() => undefined);
    port = await freePort();
  });
  afterAll(async () => {
    sshd.kill('SIGKILL');
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is fetched and pushed to with the key of its project, of which nothing is left', async () => {
    await startSshd('host');
    const temporary = path.join(folder, 'tmp');
    await mkdir(temporary);
    process.env.TMPDIR = temporary;
    const { cache, fetched } = await stage();
    const { repository, copy } = await fetched('key');
    const { commit } = await cache.baseOf(copy, null, signal);
    expect(commit).toBe(await server.git('rev-parse', 'main'));
    await cache.remote(copy, repository, (url) => ['push', '-q', url, `${commit}:refs/heads/ABC-1`], signal);
    expect(await server.git('rev-parse', 'ABC-1')).toBe(commit);
    expect(await readdir(temporary)).toEqual([]);
    const kept = await readdir(copy, { recursive: true });
    expect(kept.join()).not.toContain('known_hosts');
  });

  it('without a key, with another’s, or at a host that is not allowed, is refused in plain words', async () => {
    const { fetched } = await stage();
    await expect(fetched(null)).rejects.toThrow('needs a secret: a private key');
    await expect(fetched('strange-key')).rejects.toThrow('Permission denied');
    const elsewhere = await stage({ SERVICE_REPOSITORY_HOSTS: '' });
    await expect(elsewhere.fetched('key')).rejects.toThrow('may not be reached');
  });

  it('whose host shows another key than before, or than the operator knows, is not talked to', async () => {
    const { fetched } = await stage();
    const company_id = newId();
    await fetched('key', company_id);
    const wrong = path.join(folder, 'known_hosts');
    const key = await readFile(path.join(folder, 'other-host.pub'), 'utf8');
    await writeFile(wrong, `[127.0.0.1]:${port} ${key}`);
    const careful = await stage({ SERVICE_REPOSITORY_KNOWN_HOSTS: wrong });
    await expect(careful.fetched('key')).rejects.toThrow('Host key verification failed');
    await stopSshd();
    await startSshd('other-host');
    await expect(fetched('key', company_id)).rejects.toThrow('Host key verification failed');
    await careful.fetched('key');
  });
});
