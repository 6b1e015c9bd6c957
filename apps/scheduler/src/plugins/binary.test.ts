import { afterEach, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { newId } from '@acp/kernel';
import { placeBinary } from './binary.ts';

const made: string[] = [];
afterEach(async () => {
  for (const name of made.splice(0)) await rm(name, { recursive: true, force: true });
});

it('without a place for its copy, a stored binary is not even opened', async () => {
  const file = path.join(tmpdir(), newId());
  made.push(file);
  await writeFile(file, '');
  let opened = 0;
  const get = async () => {
    opened += 1;
    return Promise.resolve(Readable.from(['#!/bin/sh\n']));
  };
  const approved = { storage_key: 'k', sha256: '' } as Parameters<typeof placeBinary>[1];
  const start = { plugin_id: newId(), fence: 1, name: 'plugin' };
  await expect(placeBinary({ get }, approved, start, path.join(file, 'below'))).rejects.toThrow('ENOTDIR');
  expect(opened).toBe(0);
});

it('a store that gives more than was allowed, or something else, has no more than that laid down', async () => {
  let given = 0;
  const get = async (): Promise<Readable> =>
    Promise.resolve(
      Readable.from(
        (function* () {
          for (given = 0; given < 1000; given += 1) yield Buffer.from(`#!${'x'.repeat(98)}`);
        })(),
        { objectMode: false, highWaterMark: 100 },
      ),
    );
  const approved = { storage_key: 'k', sha256: '', size_bytes: 200 };
  const below = await mkdtemp(path.join(tmpdir(), 'binary-test-'));
  const start = { plugin_id: newId(), fence: 1, name: 'plugin' };
  const placed = placeBinary({ get }, approved, start, below);
  await expect(placed).rejects.toThrow('does not have the allowed hash');
  expect(given).toBeLessThan(10);
  expect(await readdir(below)).toEqual([]);
  await rm(below, { recursive: true });
});
