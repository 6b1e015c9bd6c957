import { describe, expect, it } from '@jest/globals';
import { chunkMarkdown, LONGEST_SOURCE, MOST_CHUNKS } from './chunk-markdown.ts';

const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

describe('chunkMarkdown', () => {
  it('cuts between sections and names the headings that lead to each passage', () => {
    const text = `# Guide\n\n${words(90)}\n\n## Install\n\n${words(90)}\n\n### Linux *only*\n\n${words(90)}\n\n## Use\n\n${words(9)}`;
    const { chunks, cut } = chunkMarkdown('Guide', text);
    expect(chunks.map(({ heading }) => heading)).toEqual([
      'Guide',
      'Guide › Install',
      'Guide › Install › Linux *only*',
      'Guide › Use',
    ]);
    expect(cut).toBe(false);
  });

  it('keeps small sections together, with their headings in the text', () => {
    const { chunks } = chunkMarkdown('FAQ', '## One\n\nYes.\n\n## Two\n\nNo.');
    expect(chunks).toEqual([{ heading: 'FAQ › One', text: 'Yes.\n\n## Two\n\nNo.' }]);
  });

  it('breaks what is long between lines: tables keep their head, code its fences, prose its sentences', () => {
    const rows = Array.from({ length: 200 }, (_, n) => `| row ${n} | value ${n} |`).join('\n');
    const table = chunkMarkdown('T', `| a | b |\n|---|---|\n${rows}`).chunks;
    expect(table.length).toBeGreaterThan(2);
    for (const { text } of table) expect(text).toMatch(/^\| a \| b \|\n\|---\|---\|\n\| row/);
    const code = chunkMarkdown('C', `\`\`\`js\n${'call(me);\n'.repeat(400)}\`\`\``).chunks;
    for (const { text } of code) expect(text).toMatch(/^```js\n(?:call\(me\);\n)+```$/);
    const prose = chunkMarkdown('P', 'A sentence of some words. '.repeat(300)).chunks;
    for (const { text } of prose) expect(text).toMatch(/^A sentence[^]*\.$/);
    for (const { text } of [...table, ...code, ...prose]) expect(text.length).toBeLessThanOrEqual(2000);
    expect(
      code
        .map(({ text }) => text)
        .join('')
        .match(/call/g),
    ).toHaveLength(400);
  });

  it.each(['a_', '~/', '> ', '- ', '[', '<!--', '```\n', '|-', '# ', '\r', '\u{1F600}', '\ud800'])(
    'a text of nothing but %j is cut within bounds',
    (part) => {
      const { chunks } = chunkMarkdown(part, part.repeat(LONGEST_SOURCE / part.length));
      expect(chunks.length).toBeLessThanOrEqual(MOST_CHUNKS);
      for (const { text, heading } of chunks) {
        expect(text.length).toBeLessThanOrEqual(2000);
        expect(heading.length).toBeLessThanOrEqual(300);
        expect(text.isWellFormed()).toBe(true);
      }
    },
  );

  it('says of what is too long that its end is missing, and makes nothing of nothing', () => {
    expect(chunkMarkdown('L', `${words(40)}\n\n`.repeat(5000)).cut).toBe(true);
    expect(chunkMarkdown(' ', ' \n\n')).toEqual({ chunks: [], cut: false });
    expect(chunkMarkdown('N', '').chunks).toEqual([{ heading: 'N', text: 'N' }]);
    expect(chunkMarkdown('N', '# A\n## B').chunks).toEqual([{ heading: 'N › A › B', text: '# A\n## B' }]);
  });
});
