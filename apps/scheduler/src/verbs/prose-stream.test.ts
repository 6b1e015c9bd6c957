import { describe, expect, it } from '@jest/globals';
import { ProseStream } from '@acp/contract';
import { cpuMs } from '@acp/testkit';
import { parse } from './parse.ts';

const streamed = (pieces: readonly string[]): string => {
  const stream = new ProseStream();
  return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
};

/** A deterministic pseudo-random sequence. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

const lines = [
  'Hello there',
  '/status done',
  '/create-issue Buy paint',
  '/report A title',
  '/nonsense word',
  '/mcp:get_issue {"issue": "A-1"}',
  '```',
  '````md',
  '```js',
  '/mcp:get_issue',
  '~~~',
  '',
  '   ',
  '  indented /status done',
  'a `tick` and trailing blanks  ',
  '\r',
  '/',
];

describe('the prose of a streamed text', () => {
  it('is what the parser of verbs leaves of the whole, however the text is cut', () => {
    const next = numbers(7);
    for (let round = 0; round < 2000; round += 1) {
      const text = Array.from({ length: 1 + next(12) }, () => lines[next(lines.length)]).join('\n');
      const pieces: string[] = [];
      for (let at = 0; at < text.length;) {
        const size = 1 + next(9);
        pieces.push(text.slice(at, at + size));
        at += size;
      }
      expect([text, streamed(pieces).trim()]).toEqual([text, parse(text).prose]);
    }
  });

  it('comes without waiting for the end of a line, unless the line may yet be a verb', () => {
    const stream = new ProseStream();
    expect(stream.push('Good mor')).toBe('Good mor');
    expect(stream.push('ning\n/sta')).toBe('ning');
    expect(stream.push('tus done\nBye')).toBe('\nBye');
    expect(stream.push('\n/unknown')).toBe('');
    expect(stream.end()).toBe('\n/unknown');
  });

  it.each([
    ['prose', 'Hello', 'hello '.repeat(20)],
    ['blanks after a word', 'Hello', ' '.repeat(120)],
    ['blanks', ' ', ' '.repeat(120)],
    ['what may be a verb', '/', 'hello '.repeat(20)],
  ])('is found in linear time in a line of megabytes that is %s', (_case, first, piece) => {
    const pieces = [first, ...Array.from({ length: 100_000 }, () => piece)];
    // Quadratic behaviour takes minutes.
    expect(cpuMs(() => streamed(pieces))).toBeLessThan(20_000);
  });
});
