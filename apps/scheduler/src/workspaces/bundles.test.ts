import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { WorkspaceFacts } from '@acp/core';
import { newId } from '@acp/kernel';
import { restoreObjects } from './bundles.ts';
import { git } from './git.ts';
import type { WorkspaceSources } from './sources.ts';

const { signal } = new AbortController();
let repository: string;

beforeAll(async () => {
  repository = await mkdtemp('/var/tmp/bundles-test-');
  await git({ cwd: repository, args: ['init', '--bare', '--quiet', '.'], signal, timeout_ms: 60_000 });
});
afterAll(async () => rm(repository, { recursive: true, force: true }));

it('a store that gives another bundle than was stored, or one without end, fills no disk', async () => {
  let given = 0;
  const get = async () =>
    Promise.resolve(
      Readable.from(
        (function* () {
          for (given = 0; given < 1000; given += 1) yield Buffer.alloc(100_000, 'x');
        })(),
        { objectMode: false, highWaterMark: 100_000 },
      ),
    );
  const sources = {
    storage: { get },
    cache: { alone: async (_f: string, _s: object, work: () => unknown) => work() },
  };
  const workspace = { id: newId(), head_commit: 'a'.repeat(40), work_commit: null, base_commit: null };
  const bundle = { storage_key: 'k', size_bytes: 1000, sha256: 'a'.repeat(64), version: 1 };
  const facts = { workspace, bundle } as unknown as WorkspaceFacts;
  const restoring = restoreObjects(sources as unknown as WorkspaceSources, facts, repository, signal);
  await expect(restoring).rejects.toThrow('the stored file is damaged: the changes of the workspace');
  expect(given).toBeLessThan(10);
  expect((await readdir(repository)).filter((name) => name.startsWith('bundle-'))).toEqual([]);
});
