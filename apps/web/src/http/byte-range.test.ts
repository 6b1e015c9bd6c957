import { describe, expect, it } from '@jest/globals';
import { byteRange } from './byte-range.ts';

describe('a byte range of a file of 50 bytes', () => {
  it.each([
    ['bytes=0-9', { start: 0, end: 9 }],
    ['bytes=40-', { start: 40, end: 49 }],
    ['bytes=40-90', { start: 40, end: 49 }],
    ['bytes=-10', { start: 40, end: 49 }],
    ['bytes=-100', { start: 0, end: 49 }],
    ['BYTES=49-49', { start: 49, end: 49 }],
    ['bytes=50-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-2', undefined],
    ['bytes=0-1,3-4', undefined],
    ['bytes=-', undefined],
    ['lines=0-1', undefined],
    ['nonsense', undefined],
    [undefined, undefined],
  ])('%s is %j', (header, expected) => {
    expect(byteRange(header, 50)).toEqual(expected);
  });

  it('of an empty file there is none', () => {
    expect([byteRange('bytes=0-', 0), byteRange('bytes=-5', 0)]).toEqual(['unsatisfiable', 'unsatisfiable']);
  });
});
