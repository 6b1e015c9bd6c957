import { afterEach, expect, it } from '@jest/globals';
import { rm, writeFile } from 'node:fs/promises';
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
