import { expect, it } from '@jest/globals';
import path from 'node:path';
import { durationsAfter, longestFirst, shuffled } from './longest-first.ts';

const root = path.resolve(import.meta.dirname, '../..');
const at = (file: string) => ({ path: path.join(root, file) });

it('the longest files come first, and those of the same duration keep their order', () => {
  const files = ['b.test.ts', 'short.test.ts', 'long.test.ts', 'a.test.ts'].map(at);
  expect(longestFirst(files, { 'long.test.ts': 40, 'a.test.ts': 3, 'b.test.ts': 3 })).toEqual(
    ['long.test.ts', 'b.test.ts', 'a.test.ts', 'short.test.ts'].map(at),
  );
});

it('a file nobody has measured counts as long if it starts processes, and as short if not', () => {
  const files = [
    'packages/core/src/new.test.ts',
    'tests/process/new.test.ts',
    'tests/http/known.test.ts',
  ].map(at);
  expect(longestFirst(files, { 'tests/http/known.test.ts': 5 })).toEqual([files[1], files[2], files[0]]);
});

it('a run that leaves files out keeps what is recorded of them, unless they are gone', () => {
  const ran = { 'a.test.ts': 2, 'b.test.ts': 9 };
  const before = { 'a.test.ts': 40, 'b.drill.test.ts': 60, 'gone.test.ts': 7 };
  expect(durationsAfter(ran, before, (file) => file !== 'gone.test.ts')).toEqual({
    'b.drill.test.ts': 60,
    'b.test.ts': 9,
  });
});

it('a seed gives one order, whatever the order before; another seed gives another', () => {
  const files = Array.from({ length: 20 }, (_, index) => at(`${index}.test.ts`));
  const order = shuffled(files, 7);
  expect(shuffled(files.toReversed(), 7)).toEqual(order);
  expect(order).not.toEqual(files);
  expect(shuffled(files, 8)).not.toEqual(order);
  expect(new Set(order)).toEqual(new Set(files));
});
