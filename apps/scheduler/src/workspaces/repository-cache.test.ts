import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { findProgram, loadConfig } from '@acp/kernel';
import { type GitServer, startGitServer } from '@acp/testkit';
import { GitError } from './git.ts';
import { RepositoryCache } from './repository-cache.ts';

const withGit: typeof describe.skip = findProgram('git') === undefined ? describe.skip : describe;
const { signal } = new AbortController();

withGit('a company’s copy of a repository', () => {
  let home: string;
  let server: GitServer;

  beforeAll(async () => {
    home = await mkdtemp('/var/tmp/repository-cache-');
    server = await startGitServer({ 'README.md': 'Shop\n' });
  });
  afterAll(async () => {
    await server.close();
    await rm(home, { recursive: true, force: true });
  });

  it('is fetched again if the clock was a year ahead when it was fetched last', async () => {
    const cache = new RepositoryCache(
      loadConfig({ SERVICE_HOME: home, SERVICE_REPOSITORY_HOSTS: server.host }),
    );
    const repository = { company_id: 'c', repo_url: server.url, secret: null, list: null };
    const often = { max_age_ms: 60_000, tolerant: false, signal };
    const { folder } = await cache.fetched(repository, often);
    const before = await cache.baseOf(folder, 'main', signal);
    await server.commit('main', { 'new.ts': 'new\n' }, 'Went on');
    await cache.fetched(repository, often);
    expect(await cache.baseOf(folder, 'main', signal)).toEqual(before);
    const ahead = new Date(Date.now() + 365 * 24 * 3600_000);
    await utimes(path.join(folder, 'service-fetched'), ahead, ahead);
    await cache.fetched(repository, often);
    expect((await cache.baseOf(folder, 'main', signal)).commit).not.toBe(before.commit);
  });

  it('forgets what was replaced by force again and again, once that is more than may be fetched at once', async () => {
    const forced = await startGitServer({ 'README.md': 'Shop\n' });
    const config = { SERVICE_HOME: home, SERVICE_REPOSITORY_HOSTS: forced.host };
    const cache = new RepositoryCache(loadConfig({ ...config, SERVICE_REPOSITORY_MAX_SIZE: '300kB' }));
    const repository = { company_id: 'c', repo_url: forced.url, secret: null, list: null };
    const packs = path.join(cache.folderOf(repository), 'objects', 'pack');
    const bytes = async (): Promise<number> => {
      let all = 0;
      for (const name of await readdir(packs)) all += (await stat(path.join(packs, name))).size;
      return all;
    };
    const seen: string[] = [];
    let most = 0;
    for (let time = 0; time < 10; time += 1) {
      // Half a day has passed.
      const before = new Date(Date.now() - 12 * 3600_000);
      for (const name of await readdir(packs).catch(() => []))
        await utimes(path.join(packs, name), before, before);
      seen.push(await forced.commit(`try-${time}`, { 'large.bin': randomBytes(100_000).toString('base64') }));
      const { folder } = await cache.fetched(repository, { max_age_ms: 0, tolerant: false, signal });
      await forced.git('branch', '-D', `try-${time}`);
      most = Math.max(most, await bytes());
      expect((await cache.baseOf(folder, 'main', signal)).branch).toBe('main');
    }
    expect(most).toBeLessThan(800_000);
    const folder = cache.folderOf(repository);
    await expect(cache.local(folder, ['cat-file', '-e', seen[0]!], signal)).rejects.toBeInstanceOf(GitError);
    // What was fetched last is still there, though its branch has gone.
    await cache.fetched(repository, { max_age_ms: 0, tolerant: false, signal });
    await cache.local(folder, ['cat-file', '-e', seen.at(-1)!], signal);
    await forced.close();
  });

  it('that is too large leaves nothing of what was fetched, however often it is tried', async () => {
    const large = await startGitServer({ 'large.bin': randomBytes(1_000_000).toString('base64') });
    const cache = new RepositoryCache(
      loadConfig({
        SERVICE_HOME: home,
        SERVICE_REPOSITORY_HOSTS: large.host,
        SERVICE_REPOSITORY_MAX_SIZE: '300kB',
      }),
    );
    const repository = { company_id: 'c', repo_url: large.url, secret: null, list: null };
    const folder = cache.folderOf(repository);
    for (let tries = 0; tries < 2; tries += 1) {
      const fetched = cache.fetched(repository, { max_age_ms: 0, tolerant: true, signal });
      await expect(fetched).rejects.toBeInstanceOf(GitError);
      await expect(stat(folder)).rejects.toThrow('ENOENT');
    }
    await large.close();
  });

  it('is not fetched from a server that only hands out its files, as these would be neither checked nor limited', async () => {
    const owner = await startGitServer({ 'README.md': 'Shop\n' });
    await owner.git('update-server-info');
    const plain = createServer((asked, answer) => {
      const { pathname } = new URL(asked.url ?? '', 'http://localhost');
      readFile(path.join(owner.folder, pathname.replace('/shop.git/', ''))).then(
        (bytes) => answer.end(bytes),
        () => answer.writeHead(404).end(),
      );
    });
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    const host = `127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const cache = new RepositoryCache(loadConfig({ SERVICE_HOME: home, SERVICE_REPOSITORY_HOSTS: host }));
    const repository = { company_id: 'c', repo_url: `http://${host}/shop.git`, secret: null, list: null };
    const fetched = cache.fetched(repository, { max_age_ms: 0, tolerant: true, signal });
    await expect(fetched).rejects.toThrow('only hands out its files');
    await expect(stat(cache.folderOf(repository))).rejects.toThrow('ENOENT');
    plain.close();
    await owner.close();
  });

  it('that fills the disk is not fetched to its end, and nothing of it is left', async () => {
    let free = 1e12;
    const endless = createServer((_asked, answer) => {
      answer.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).flushHeaders();
      free = 1;
    });
    await once(endless.listen(0, '127.0.0.1'), 'listening');
    const host = `127.0.0.1:${(endless.address() as AddressInfo).port}`;
    const config = loadConfig({ SERVICE_HOME: home, SERVICE_REPOSITORY_HOSTS: host });
    const cache = new RepositoryCache(config, async () => Promise.resolve(free));
    const repository = { company_id: 'c', repo_url: `http://${host}/shop.git`, secret: null, list: null };
    const fetched = cache.fetched(repository, { max_age_ms: 0, tolerant: false, signal });
    await expect(fetched).rejects.toThrow('not enough free space');
    await expect(stat(cache.folderOf(repository))).rejects.toThrow('ENOENT');
    endless.closeAllConnections();
    endless.close();
  });

  it('is whole, and is fetched again with what is new alone', async () => {
    const cache = new RepositoryCache(
      loadConfig({ SERVICE_HOME: home, SERVICE_REPOSITORY_HOSTS: server.host }),
    );
    const repository = { company_id: 'd', repo_url: server.url, secret: null, list: null };
    const fetched = async () => cache.fetched(repository, { max_age_ms: 0, tolerant: false, signal });
    await server.commit('main', { 'large.bin': randomBytes(100_000).toString('base64') });
    const { folder } = await fetched();
    const sha = await server.commit('main', { 'small.txt': 'small\n' });
    await fetched();
    const count = await cache.local(folder, ['rev-list', '--count', sha], signal);
    expect(count).toBe(await server.git('rev-list', '--count', sha));
    expect(await cache.local(folder, ['rev-parse', '--is-shallow-repository'], signal)).toBe('false');
    const listed = await readdir(path.join(folder, 'objects', 'pack'));
    const packs = listed.filter((name) => name.endsWith('.pack'));
    const sizes = await Promise.all(
      packs.map(async (name) => (await stat(path.join(folder, 'objects', 'pack', name))).size),
    );
    expect(sizes.filter((size) => size > 50_000)).toHaveLength(1);
  });
});
