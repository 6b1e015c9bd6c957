import { expect, it } from '@jest/globals';
import { termsOf, waysIn } from './query-terms.ts';

it('long words are looked for by their beginning, short ones and those with a digit as they are', () => {
  expect(termsOf('Releasing schemas of HAR-2041, order20 and IPv6')).toEqual([
    'releas:*',
    'schema:*',
    'of',
    'har',
    '2041',
    'order20',
    'and',
    'ipv6',
  ]);
});

it('passages are found by the rare terms, or by several frequent ones at once', () => {
  const term = (name: string, found: number) => ({ term: name, found, weight: 1 });
  expect(waysIn([term('the', 9000), term('a', 700), term('b', 200), term('c', 200)], 1000)).toEqual([
    'b | c',
  ]);
  expect(waysIn([term('a', 1)], 1000)).toEqual(['a']);
  const all = [term('the', 9000), term('d', 1200), term('c', 3000), term('of', 8000)];
  expect(waysIn(all, 1000)).toEqual(['d & c & of', 'd & c', 'd']);
});
