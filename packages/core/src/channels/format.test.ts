import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { piecesOf, splitMarkdown } from './format.ts';

const one = (kind: 'slack' | 'telegram', markdown: string) => {
  const pieces = piecesOf(kind, markdown, 'rest');
  expect(pieces).toHaveLength(1);
  return pieces[0]!.text;
};

const sample = `# Plan **now**

Some *soft* and **hard** words, ~~gone~~, \`a < b\` & [a page](https://example.com/?a=1&b=2).

- one
- two
  1. inner

> said

\`\`\`ts
if (a < b) {}
\`\`\``;

describe('Markdown', () => {
  it('becomes HTML of Telegram', () => {
    expect(one('telegram', sample)).toBe(`<b>Plan now</b>

Some <i>soft</i> and <b>hard</b> words, <s>gone</s>, <code>a &lt; b</code> &amp; <a href="https://example.com/?a=1&amp;b=2">a page</a>.
• one
• two
   1. inner

&gt; said

<pre>if (a &lt; b) {}</pre>`);
  });

  it('becomes mrkdwn of Slack', () => {
    const text = one('slack', sample);
    expect(text).toContain('*Plan now*');
    expect(text).toContain(
      '_soft_ and *hard* words, ~gone~, `a &lt; b` &amp; <https://example.com/?a=1&amp;b=2|a page>',
    );
  });

  it.each(['slack', 'telegram'] as const)('of a hostile text calls nobody and opens no tag: %s', (kind) => {
    const text = one(
      kind,
      '<!channel> <@U123> <b>x</b> <script>1</script> [x](javascript:alert(1)) ![y](https://evil.example/?q=secret)',
    );
    expect(text).not.toMatch(/<(?!\/?[bis]>)/);
    expect(text).not.toContain('<b>');
    expect(text).not.toContain('evil.example');
  });

  it('is cut between paragraphs, and a block of code is closed and opened again', () => {
    const code = `\`\`\`ts\n${'const a = 1;\n'.repeat(30)}\`\`\``;
    const pieces = splitMarkdown(`Begin.\n\n${code}\n\nEnd.`, 200);
    expect(pieces.length).toBeGreaterThan(2);
    for (const piece of pieces) {
      expect(piece.length).toBeLessThanOrEqual(200);
      expect((piece.match(/```/g) ?? []).length % 2).toBe(0);
    }
  });

  it('with a block of code that has a long title comes to an end, however short the pieces', () => {
    // Quotes become many times as long, so that even a short text is cut.
    for (const [kind, quotes] of [
      ['slack', 30],
      ['telegram', 70],
    ] as const)
      for (let length = 60; length < 100; length += 1) {
        const text = `${'>'.repeat(quotes)}${'a\n'.repeat(50)}\`\`\`${'x'.repeat(57)}\n${'y'.repeat(length)}`;
        const pieces = piecesOf(kind, text, 'rest');
        expect(pieces.length).toBeLessThan(20);
        expect(pieces.map(({ plain }) => plain).join('')).toContain('y');
      }
    const text = `~~~${'t'.repeat(100)}\n${'x'.repeat(5000)}`;
    for (const longest of [60, 100, 139, 300])
      expect(splitMarkdown(text, longest).length).toBeLessThan(10_000 / (longest / 4 - 12));
  });

  it('of millions of characters is cut in no more memory than it takes', () => {
    const text = `\`\`\`ts\n${'wörd wo€d\n'.repeat(400_000)}`;
    // With a copy of all that followed for each piece, this ended the process.
    const pieces = splitMarkdown(text, 3500);
    expect(pieces.length).toBeGreaterThan(1000);
    expect(splitMarkdown(text, 3500, 3)).toEqual(pieces.slice(0, 3));
  });

  it('of whatever text comes in pieces that the vendor takes, and loses no word', () => {
    const words = fc.array(fc.constantFrom('word', '&&&&&&&&', '😀😀', '```', '\n', '\n\n', '**', '- a'), {
      minLength: 1,
      maxLength: 3000,
    });
    fc.assert(
      fc.property(words, fc.constantFrom('slack' as const, 'telegram' as const), (parts, kind) => {
        const text = parts.join(' ');
        const pieces = piecesOf(kind, text, 'rest');
        for (const piece of pieces) {
          expect(piece.plain.length).toBeLessThanOrEqual(kind === 'telegram' ? 4096 : 40_000);
          expect(piece.text.length).toBeLessThanOrEqual(40_000);
          expect(piece.text.isWellFormed()).toBe(true);
        }
        const count = (of: string) => of.split('word').length;
        const told = count(pieces.map(({ plain }) => plain).join(' '));
        // A truncated text ends with a pointer to the rest.
        expect(told === count(text) || pieces.at(-1)?.plain === 'rest').toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
