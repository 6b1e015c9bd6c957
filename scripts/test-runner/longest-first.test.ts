import { expect, it } from '@jest/globals';
import path from 'node:path';
import { mixed } from './mixed-order.ts';

const root = path.resolve(import.meta.dirname, '../..');
const files = (folder: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ path: path.join(root, folder, `${index}.test.ts`) }));
const isSlow = ({ path: file }: { path: string }): boolean => file.includes('tests/process');

it('files that start processes are spread among the others, all in their order, and none comes last', () => {
  const [others, slow] = [files('packages/core/src', 100), files('tests/process', 10)];
  const order = mixed([...others, ...slow]);
  expect(order).toHaveLength(110);
  expect(order.filter((test) => !isSlow(test))).toEqual(others);
  expect(order.filter(isSlow)).toEqual(slow);
  const places = slow.map((test) => order.indexOf(test));
  expect(places).toEqual([0, 9, 18, 27, 36, 45, 54, 63, 72, 81]);
});

it.each([
  ['packages/core/src', 3],
  ['tests/process', 3],
  ['tests/process', 0],
])('%s alone keep their order', (folder, count) => {
  expect(mixed(files(folder, count))).toEqual(files(folder, count));
});
