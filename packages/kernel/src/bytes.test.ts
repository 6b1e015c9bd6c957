import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseBytes } from './bytes.ts';

describe('parseBytes', () => {
  it.each([
    ['0', 0],
    ['1048576', 1_048_576],
    ['25MB', 25_000_000],
    ['25MiB', 26_214_400],
    [' 25 mb ', 25_000_000],
    ['1.5GiB', 1_610_612_736],
    ['10b', 10],
    ['1kb', 1000],
    ['1KiB', 1024],
    ['0.5', 0],
    ['2TB', 2e12],
    ['1TiB', 2 ** 40],
  ])('reads %p as %d', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

  it.each([
    '',
    'MB',
    '-1',
    '+1',
    '1e3',
    '0x10',
    '1.',
    '.5',
    '25 M',
    '25PB',
    '1 2',
    '25MB!',
    'constructor',
    '1con',
    '999999999999999TB',
    'NaN',
  ])('takes %p for no size', (text) => expect(parseBytes(text)).toBeNull());

  it('reads every whole number of bytes as itself', () => {
    fc.assert(fc.property(fc.nat(), (bytes) => expect(parseBytes(String(bytes))).toBe(bytes)));
  });
});
