import { describe, expect, it } from '@jest/globals';
import { CopyRows } from './copy-rows.ts';
import { KeySet } from './key-set.ts';

describe('a set of keys', () => {
  it('has what was added, once, and not what was removed, at any size', () => {
    const keys = new KeySet();
    const name = (n: number) => `attachments/a/${n}`;
    for (const _ of [1, 2]) for (let n = 0; n < 20_000; n += 1) keys.add(name(n));
    expect(keys.size).toBe(20_000);
    for (let n = 0; n < 20_000; n += 2) {
      keys.delete(name(n));
      keys.delete(name(n));
    }
    keys.delete('attachments/a/unknown');
    expect(keys.size).toBe(10_000);
    const wrong = Array.from({ length: 40_000 }, (_, n) => n).filter(
      (n) => keys.has(name(n)) !== (n < 20_000 && n % 2 === 1),
    );
    expect(wrong).toEqual([]);
  });
});

describe('rows in pieces', () => {
  it('are the same wherever they are cut', () => {
    const text = Buffer.from('a\tö\\n\tc\n\t\\N\t\nlast\t\t1\n');
    const whole = [
      ['a', 'ö\\n', 'c'],
      ['', '\\N', ''],
      ['last', '', '1'],
    ];
    for (let one = 0; one <= text.length; one += 1)
      for (let other = one; other <= text.length; other += 1) {
        const rows = new CopyRows();
        const pieces = [text.subarray(0, one), text.subarray(one, other), text.subarray(other)];
        expect(pieces.flatMap((piece) => [...rows.complete(piece)])).toEqual(whole);
      }
  });
});
