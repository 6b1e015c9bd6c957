import { describe, expect, it } from '@jest/globals';
import { diffPieces, textDiff } from './text-diff.ts';

describe('the difference of two texts', () => {
  it('is told by sentences, and both texts can be read from it', () => {
    const before = 'You answer letters. Be brief.\nUse version 1.2 only. Sign.';
    const after = 'You answer letters. Be friendly.\nUse version 1.2 only. Sign. Say what is open.';
    const pieces = diffPieces(before, after);
    expect(pieces.map(({ change, text }) => [change, text.trim()])).toEqual([
      ['same', 'You answer letters.'],
      ['removed', 'Be brief.'],
      ['added', 'Be friendly.'],
      ['same', 'Use version 1.2 only. Sign.'],
      ['added', 'Say what is open.'],
    ]);
    const without = (change: string) =>
      pieces
        .filter((piece) => piece.change !== change)
        .map(({ text }) => text)
        .join('');
    expect(without('removed')).toBe(after);
    expect(without('added').trimEnd()).toBe(before);
  });

  it('costs little, however long its sentences are: of many versions a page shows all differences', () => {
    const version = (letter: string) =>
      Array.from({ length: 700 }, (_, n) => `${letter}${n}.${' '.repeat(600)}\n`).join('');
    const [before, after] = [version('a'), version('b')];
    const { user: began } = process.cpuUsage();
    for (let times = 0; times < 10; times += 1) diffPieces(before, after);
    expect((process.cpuUsage().user - began) / 1000).toBeLessThan(2500);
  });

  it('of long texts that differ in the middle is what differs', () => {
    const around = (middle: string) => `${'a.\n'.repeat(5000)}${middle}.\n${'b.\n'.repeat(5000)}`;
    const pieces = diffPieces(around('x'), around('y'));
    expect(pieces.map(({ change }) => change)).toEqual(['same', 'removed', 'added', 'same']);
    expect(pieces.slice(1, 3).map(({ text }) => text)).toEqual(['x.\n', 'y.\n']);
  });

  it('of megabytes without a space is told, as an import may bring them', () => {
    const dots = '.'.repeat(5_000_000);
    expect(diffPieces(dots, `${dots}!`).map(({ change }) => change)).toEqual(['removed', 'added']);
    const gap = `a.${' '.repeat(5_000_000)}b`;
    expect(diffPieces(gap, 'a. c').map(({ change }) => change)).toEqual(['same', 'removed', 'added']);
  });

  it('of texts without end is a replacement, and markup stays text', () => {
    expect(diffPieces('a.\n'.repeat(3000), 'b.\n'.repeat(3000)).map(({ change }) => change)).toEqual([
      'removed',
      'added',
    ]);
    expect(diffPieces('', '')).toEqual([]);
    expect(textDiff('', '<script>x</script>')).toContain('<ins>&#60;script&#62;x&#60;/script&#62;</ins>');
  });
});
