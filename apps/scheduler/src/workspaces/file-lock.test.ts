import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProgram } from '@acp/kernel';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { lockFile } from './file-lock.ts';

const withLocks: typeof describe.skip = findProgram('flock') === undefined ? describe.skip : describe;
const { signal } = new AbortController();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp('/tmp/file-lock-test-');
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

withLocks('a lock', () => {
  it('is one holder’s at a time, and those that wait get it one after the other', async () => {
    const file = path.join(folder, 'a');
    const first = await lockFile(file, { wait_ms: null, signal });
    expect(await lockFile(file, { wait_ms: 0, signal })).toBeNull();
    const order: string[] = [];
    const next = async () => {
      const lock = await lockFile(file, { wait_ms: null, signal });
      order.push('second');
      await lock!.release();
    };
    const waiting = next();
    order.push('first');
    await first!.release();
    await waiting;
    expect(order).toEqual(['first', 'second']);
  });

  it('is not taken by whoever has given up waiting for it', async () => {
    const file = path.join(folder, 'b');
    const held = await lockFile(file, { wait_ms: null, signal });
    const patience = new AbortController();
    const waiting = lockFile(file, { wait_ms: null, signal: patience.signal });
    patience.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await held!.release();
    await (await lockFile(file, { wait_ms: 0, signal }))!.release();
  });

  it('ends with its process, however that ends', async () => {
    const file = path.join(folder, 'c');
    const code = `
    const { lockFile } = await import(${JSON.stringify(path.join(import.meta.dirname, 'file-lock.ts'))});
    await lockFile(${JSON.stringify(file)}, { wait_ms: null, signal: new AbortController().signal });
    console.log('held');
    setInterval(() => {}, 1000);`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
    const other = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    expect(await lockFile(file, { wait_ms: 0, signal })).toBeNull();
    other.kill('SIGKILL');
    const lock = await lockFile(file, { wait_ms: 10_000, signal });
    expect(lock).not.toBeNull();
    await lock!.release();
  });
});
