import { expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import { BundleSlugs } from './bundle-slugs.ts';

const slugs = () => new BundleSlugs('goal', (name) => name);

it('entities of one name are numbered, past slugs that others have', () => {
  const made = slugs();
  const names = ['Grow', 'Grow 3', 'grow', 'Grow!', '!', 'Grow', 'Grow 3', '?'];
  expect(names.map((name, at) => made.add(String(at), name))).toEqual([
    'grow',
    'grow-3',
    'grow-2',
    'grow-4',
    'goal',
    'grow-5',
    'grow-3-2',
    'goal-2',
  ]);
});

it('as many of one name as a company may have take linear time', () => {
  const made = slugs();
  // Trying all numbers for each took more than a minute.
  const spent = cpuMs(() => {
    for (let at = 1; at < 20_000; at += 1) made.add(String(at), 'Grow');
  });
  expect(spent).toBeLessThan(20_000);
  expect(made.add('last', 'Grow')).toBe('grow-20000');
});
