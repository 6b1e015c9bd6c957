import { afterAll, expect, it } from '@jest/globals';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findProgram } from './index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'find-program-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('a program is a file that may be executed, in the first folder that has one', () => {
  const [first, second, third] = ['first', 'second', 'third'].map((name) => path.join(folder, name));
  mkdirSync(path.join(first!, 'tool'), { recursive: true });
  mkdirSync(second!);
  mkdirSync(third!);
  writeFileSync(path.join(second!, 'tool'), '');
  const program = path.join(third!, 'tool');
  writeFileSync(program, '');
  chmodSync(program, 0o755);
  const search = [first, second, 'relative', third].join(path.delimiter);
  expect(findProgram('tool', search)).toBe(program);
  expect(findProgram('other', search)).toBeUndefined();
  expect(findProgram(program)).toBe(program);
  expect(findProgram(path.join(first!, 'tool'))).toBeUndefined();
});
