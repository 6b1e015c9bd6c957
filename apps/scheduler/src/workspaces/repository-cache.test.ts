import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import path from 'node:path';
import { findProgram, loadConfig } from '@acp/kernel';
import { type GitServer, startGitServer } from '@acp/testkit';
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
});
