import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '@acp/kernel';
import { writeNewFile } from './new-file.ts';

const prlimit = findProgram('prlimit');
const withLimits: typeof describe.skip = prlimit === undefined ? describe.skip : describe;
const run = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'new-file-'));
});
afterEach(async () => rm(folder, { recursive: true }));

describe('a file that an operator asked for', () => {
  it('is for them alone, and replaces none', async () => {
    const file = path.join(folder, 'a');
    await writeNewFile(file, 'one');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(writeNewFile(file, 'two')).rejects.toThrow('EEXIST');
    expect(await readFile(file, 'utf8')).toBe('one');
  });
});

withLimits('a file that an operator asked for', () => {
  it('is not there if the disk takes only half of it', async () => {
    const module = path.join(import.meta.dirname, 'new-file.ts');
    const script = `const { writeNewFile } = await import(${JSON.stringify(module)});
      await writeNewFile(${JSON.stringify(path.join(folder, 'a'))}, 'x'.repeat(2000));`;
    const limited = run(prlimit!, ['--fsize=1000', process.execPath, '--input-type=module', '-e', script]);
    await expect(limited).rejects.toThrow('EFBIG');
    expect(await readdir(folder)).toEqual([]);
  });
});
