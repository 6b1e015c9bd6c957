import { describe, expect, it } from '@jest/globals';
import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { diskUsedPercent } from './check-alerts.ts';

describe('a scheduler’s look at its disks', () => {
  it('ends although one of them never answers, which is asked once until it does', async () => {
    const home = tmpdir();
    const gone = Promise.withResolvers<StatsFs>();
    const asked: string[] = [];
    const read = async (path: string) => {
      asked.push(path);
      return path === home ? gone.promise : statfs(path);
    };
    expect(await diskUsedPercent({ home }, read)).toEqual(expect.any(Number));
    expect(await diskUsedPercent({ home }, read)).toEqual(expect.any(Number));
    expect(asked).toEqual(['/', home, '/']);
    gone.resolve(await statfs(home));
    await diskUsedPercent({ home }, read);
    await diskUsedPercent({ home }, read);
    expect(asked.filter((path) => path === home)).toHaveLength(2);
  });

  it('tells nothing of one that can’t be read', async () => {
    expect(await diskUsedPercent({ home: '/nowhere at all' })).toEqual(expect.any(Number));
    expect(
      await diskUsedPercent({ home: '/nowhere at all' }, async () => Promise.reject(new Error('no'))),
    ).toBeNull();
  });
});
