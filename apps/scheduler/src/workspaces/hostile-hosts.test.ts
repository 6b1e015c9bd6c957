/** Git hosts that lie, or that are something else than they were taken for. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import { GitError } from './git.ts';
import type { GitHost, HostConfig } from './git-host.ts';
import { Github } from './github.ts';
import { Gitlab } from './gitlab.ts';

const BRANCH = 'HAR-1-a-shop';
const config: HostConfig = { repository_apis: [], repository_egress: 'any', repository_hosts: [] };

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(() => server.close());

interface Told {
  number: number;
  branch?: string;
  fork?: boolean;
  url?: string;
}

const hosts = {
  github: {
    open: (): GitHost => new Github(config, placeOf('github'), { secret: 'a-token-of-github', list: null }),
    write: ({ number, branch = BRANCH, fork = false, url }: Told): object => ({
      number,
      html_url: url ?? `https://git.example/harbour/shop/pull/${number}`,
      title: 'A shop',
      state: 'open',
      merged_at: null,
      head: { ref: branch, sha: 'a'.repeat(40), repo: { id: fork ? 99 : 7 } },
      base: { repo: { id: 7 } },
    }),
  },
  gitlab: {
    open: (): GitHost => new Gitlab(config, placeOf('gitlab'), { secret: 'a-token-of-gitlab', list: null }),
    write: ({ number, branch = BRANCH, fork = false, url }: Told): object => ({
      iid: number,
      web_url: url ?? `https://git.example/harbour/shop/-/merge_requests/${number}`,
      title: 'A shop',
      state: 'opened',
      sha: 'a'.repeat(40),
      source_branch: branch,
      source_project_id: fork ? 99 : 7,
      target_project_id: 7,
    }),
  },
};
const names = ['github', 'gitlab'] as const;

const placeOf = (provider: string) => ({ provider, api_url: server.url, repository: 'harbour/shop' });

/** @param told in the order of the list @param looked what is told of any single one */
function tell(name: keyof typeof hosts, told: readonly Told[], looked = told.at(-1)): void {
  const { write } = hosts[name];
  server.answer((response, request) => {
    const path = new URL(request.url ?? '', server.url).pathname;
    const answer = path.endsWith('reviews')
      ? []
      : path.endsWith('check-runs')
        ? { check_runs: [] }
        : path.endsWith('approvals')
          ? {}
          : /\/\d+$/.test(path)
            ? looked && write(looked)
            : told.map(write);
    response.end(JSON.stringify(answer));
  });
}

const signal = AbortSignal.timeout(200_000);
const unreadable = { name: 'GitError', message: 'the server’s answer can’t be read' };

describe.each(names)('%s', (name) => {
  it('that passes over what it was asked for: another branch’s pull request is not this one’s', async () => {
    tell(name, [
      { number: 1, branch: 'main' },
      { number: 2, fork: true },
    ]);
    expect(await hosts[name].open().find(BRANCH, signal)).toBeUndefined();
    tell(name, [{ number: 1, branch: 'main' }, { number: 2, fork: true }, { number: 3 }]);
    expect(await hosts[name].open().find(BRANCH, signal)).toMatchObject({ number: 3 });
  });

  it.each([0, -1, 2 ** 31, 1e300])('that numbers a pull request %s is not read', async (number) => {
    tell(name, [{ number }]);
    await expect(hosts[name].open().find(BRANCH, signal)).rejects.toMatchObject(unreadable);
  });

  it('that tells of another one than it was asked for is not read', async () => {
    tell(name, [{ number: 4 }]);
    await expect(hosts[name].open().look(3, signal)).rejects.toMatchObject(unreadable);
    expect(await hosts[name].open().look(4, signal)).toMatchObject({ number: 4, state: 'open' });
  });

  it.each(Object.entries(hostileAnswers))('that answers %s is refused in words', async (_what, answer) => {
    server.answer(answer);
    await expect(hosts[name].open().look(3, signal)).rejects.toBeInstanceOf(GitError);
  });
});
