import { describe, expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import * as fc from 'fast-check';
import { newApiKey, Scrubber } from './index.ts';

// A small alphabet makes secrets overlap, repeat and contain each other.
const secrets = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', '"', '😀'), minLength: 8, maxLength: 12 }),
  { maxLength: 4 },
);
const noise = fc.string({ unit: fc.constantFrom('a', 'b', '"', ' ', '😀'), maxLength: 30 });
const texts = secrets.chain((known) =>
  fc.tuple(
    fc.constant(known),
    fc.array(known.length > 0 ? fc.oneof(noise, fc.constantFrom(...known)) : noise, { maxLength: 6 }),
  ),
);

describe('the scrubber', () => {
  it('replaces every occurrence of every secret', () => {
    const key = newApiKey();
    const scrubber = new Scrubber([key, 'correct horse']);
    expect(scrubber.scrub(`${key}, ${key} and correct horse.`)).toBe(
      '[redacted], [redacted] and [redacted].',
    );
  });

  it('leaves short values and other text alone', () => {
    const scrubber = new Scrubber(['', 'a', '1234567']);
    expect(scrubber.scrub('a 1234567 text')).toBe('a 1234567 text');
    expect(new Scrubber().scrub('a text as it is')).toBe('a text as it is');
  });

  it('finds a secret that stands escaped in a JSON text', () => {
    const secret = 'line one\nline "two"';
    expect(new Scrubber([secret]).scrub(JSON.stringify({ secret }))).toBe('{"secret":"[redacted]"}');
  });

  it('removes overlapping secrets and their prefixes without a rest', () => {
    const scrubber = new Scrubber(['aaaabbbb', 'bbbbcccc', 'aaaabbbbcc']);
    expect(scrubber.scrub('xaaaabbbbccccx')).toBe('x[redacted]x');
  });

  it('leaves no secret in any text', () => {
    fc.assert(
      fc.property(texts, ([known, parts]) => {
        const clean = new Scrubber(known).scrub(parts.join(''));
        for (const secret of known) expect(clean).not.toContain(secret);
      }),
    );
  });
});

describe('secrets that repeat themselves, or have parts of each other', () => {
  /** Each starts in the text wherever it does. */
  const covered = (text: string, known: readonly string[]): boolean[] => {
    const found = Array.from({ length: text.length }, () => false);
    for (const secret of known)
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1))
        found.fill(true, at, at + secret.length);
    return found;
  };

  it('are removed wherever they stand, and nothing else is', () => {
    const part = fc.constantFrom('a', 'ab', 'b', 'c', 'aab'.repeat(30), 'a'.repeat(70), 'b'.repeat(64));
    const repeating = fc
      .array(part, { minLength: 1, maxLength: 5 })
      .map((parts) => parts.join('').padEnd(9, 'a'));
    const known = fc.array(repeating, { minLength: 1, maxLength: 4 });
    const pieces = fc.array(fc.oneof(part, fc.nat(3)), { maxLength: 8 });
    fc.assert(
      fc.property(known, pieces, (all, parts) => {
        const text = parts.map((each) => (typeof each === 'string' ? each : (all[each] ?? ''))).join('');
        const spans = new Scrubber(all).find(text);
        const removed = Array.from(text, (_, at) => spans.some(({ start, end }) => start <= at && at < end));
        expect(removed).toEqual(covered(text, all));
      }),
      { numRuns: 500 },
    );
  });
});

describe('scrubbing takes time in proportion to the text', () => {
  const beginning = `https://hooks.example.com/${'services/'.repeat(20)}`;
  const many = (first: string) => Array.from({ length: 5000 }, () => `${first}${newApiKey()}`);
  // Quadratic behaviour takes more than a minute, and looking for one secret after the other much more than that.
  it.each([
    ['a secret that repeats a letter', ['a'.repeat(65_536)], 'a'.repeat(1_000_000)],
    [
      'one that is nearly there again and again',
      [`b${'a'.repeat(65_535)}`],
      `b${'a'.repeat(65_534)}`.repeat(60),
    ],
    ['secrets of which all begin as the text does everywhere', many(beginning), beginning.repeat(5000)],
  ])('with %s', (_case, known, text) => {
    expect(cpuMs(() => new Scrubber(known).scrub(text))).toBeLessThan(20_000);
  });

  it('whether five secrets are known or five thousand', () => {
    const text = 'What the customers of the shop have asked for since Monday is not sk_6f in stock. '.repeat(
      100_000,
    );
    const [few, all] = [many('').slice(0, 5), many('')].map((known) => {
      const scrubber = new Scrubber(known);
      scrubber.scrub(text.slice(0, 100_000));
      return cpuMs(() => scrubber.scrub(text));
    });
    // One after the other, a thousand times as many take some hundred times as long.
    expect(all!).toBeLessThan(25 * few!);
  });
});

describe('the streaming scrubber', () => {
  it('puts out, joined, what scrubbing the whole gives, however the text is cut', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(9)), ([known, parts], cuts) => {
        const scrubber = new Scrubber(known);
        const text = parts.join('');
        const stream = scrubber.stream();
        let out = '';
        let at = 0;
        for (const cut of cuts) {
          out += stream.push(text.slice(at, at + cut));
          at += cut;
        }
        out += stream.push(text.slice(at)) + stream.end();
        expect(out).toBe(scrubber.scrub(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('holds back no more than the longest secret’s length', () => {
    const stream = new Scrubber(['12345678', 'x'.repeat(20)]).stream();
    expect(stream.push('y'.repeat(50))).toHaveLength(31);
    expect(stream.end()).toHaveLength(19);
  });

  it('passes text straight on where there is no secret', () => {
    const stream = new Scrubber().stream();
    expect(stream.push('at once')).toBe('at once');
    expect(stream.end()).toBe('');
  });

  it('knows a secret that is added while the text runs', () => {
    const scrubber = new Scrubber();
    const stream = scrubber.stream();
    const before = stream.push('start ');
    scrubber.addSecret('late-secret');
    expect(before + stream.push('late-') + stream.push('secret') + stream.end()).toBe('start [redacted]');
  });

  it('never tears a surrogate pair between two pieces', () => {
    const stream = new Scrubber(['12345678']).stream();
    const pieces = Array.from({ length: 8 }, () => stream.push('😀'));
    for (const piece of [...pieces, stream.end()]) expect(piece.isWellFormed()).toBe(true);
  });
});
