import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ofEachProcess } from './process-files.ts';

let proc: string;

beforeEach(async () => {
  proc = await mkdtemp(path.join(tmpdir(), 'acp-proc-'));
});
afterEach(async () => rm(proc, { recursive: true }));

async function processWith(pid: string, environ: string): Promise<void> {
  await mkdir(path.join(proc, pid));
  await writeFile(path.join(proc, pid, 'environ'), environ, 'latin1');
}

test('each process’s file is read to its end, however long, and other folders are left alone', async () => {
  const long = `A=${'é'.repeat(100_000)}\0`;
  await processWith('self', 'B=1');
  const written = new Map([[7, long]]);
  for (let pid = 100; pid < 130; pid += 1) written.set(pid, `PID=${pid}\0`);
  for (const [pid, environ] of written) await processWith(String(pid), environ);
  const found = await ofEachProcess('environ', (text, pid) => [pid, text] as const, proc);
  expect(new Map(found)).toEqual(written);
  expect(found).toHaveLength(written.size);
});

test('of a process that claims gigabytes, only what one can be started with is read', async () => {
  await processWith('1', 'A=1\0');
  await truncate(path.join(proc, '1', 'environ'), 64 * 2 ** 30);
  const [read] = await ofEachProcess('environ', (text) => text, proc);
  expect(read).toHaveLength(2 * 2 ** 20);
  expect(read).toMatch(/^A=1\0/);
});

test('processes without the file, and those that `take` makes nothing of, are left out', async () => {
  await mkdir(path.join(proc, '1'));
  await processWith('2', 'yes');
  await processWith('3', 'no');
  const found = await ofEachProcess('environ', (text, pid) => (text === 'yes' ? pid : undefined), proc);
  expect(found).toEqual([2]);
});

test('without /proc there are none', async () => {
  await expect(ofEachProcess('stat', (text) => text, path.join(proc, 'missing'))).resolves.toEqual([]);
});
