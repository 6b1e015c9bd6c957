import { expect, it } from '@jest/globals';
import { termsOf } from './query-terms.ts';

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
