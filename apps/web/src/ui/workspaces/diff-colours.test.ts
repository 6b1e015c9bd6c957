import { describe, expect, it } from '@jest/globals';
import { DiffColours } from './diff-colours.ts';
import { readPatch } from './read-patch.ts';

function coloured(path: string, patch: string): string[] {
  const { lines } = readPatch(patch, 10_000);
  const text = new DiffColours().of(path, lines);
  return lines.map(text);
}

/** Text as displayed by a browser. */
const readable = (line: string): string =>
  line
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll(/&#(x[\da-f]+|\d+);/g, (_, code: string) =>
      String.fromCodePoint(Number(code.replace('x', '0x'))),
    )
    .replaceAll('&amp;', '&');

describe('the colours of a diff', () => {
  it('are those of each side, whole on every line, whatever goes over several', () => {
    const patch = '@@ -1,3 +1,3 @@\n /* a\n-b */ let x = 1;\n+c */ let y = 2;\n d\n';
    const [, first, removed, added] = coloured('src/a.ts', patch);
    expect(first).toBe('<span class="hljs-comment">/* a</span>');
    expect(removed).toMatch(
      /^<span class="hljs-comment">b \*\/<\/span> <span class="hljs-keyword">let<\/span>/,
    );
    expect(added).toMatch(/^<span class="hljs-comment">c \*\/<\/span>/);
  });

  it('let nothing of a file become a tag', () => {
    const evil = [
      '<script>alert(1)</script>',
      '"</span><img src=x onerror=alert(1)>"',
      '`${<b>}`',
      '<!-- ',
      '&lt;',
    ];
    for (const name of ['a.html', 'a.js', 'a.md', 'a.php', 'a.xml', 'a.unknown', 'Makefile']) {
      const lines = coloured(name, `@@ -0,0 +1,5 @@\n${evil.map((line) => `+${line}\n`).join('')}`).slice(1);
      for (const [at, line] of lines.entries()) {
        expect(line.replaceAll(/<span class="[\w -]+">|<\/span>/g, '')).not.toMatch(/[<>]/);
        expect(readable(line)).toBe(evil[at]);
      }
    }
  });

  it('leave out what takes a grammar seconds', () => {
    const slow = `@@ -0,0 +1,1971 @@\n+int a = 1;\n${'+a b c d e\n'.repeat(1970)}`;
    const lines = coloured('a.cs', slow);
    expect(lines.some((line) => line.includes('hljs'))).toBe(false);
    expect(lines.slice(1, 3).map(readable)).toEqual(['int a = 1;', 'a b c d e']);
    expect(coloured('a.cs', '@@ -0,0 +1,1 @@\n+int a = 1;\n')[1]).toContain('hljs');
  });

  it('end where a page would take long: the rest is plain, and complete', () => {
    const patch = `@@ -0,0 +1,900 @@\n${'+const a = "text";\n'.repeat(900)}`;
    const colours = new DiffColours();
    const { lines } = readPatch(patch, 10_000);
    const pages = Array.from({ length: 6 }, () => lines.map(colours.of('a.ts', lines)));
    expect(pages[0]![1]).toContain('hljs');
    expect(pages[5]!.join('')).not.toContain('hljs');
    for (const page of pages)
      expect(new Set(page.slice(1).map(readable))).toEqual(new Set(['const a = "text";']));
  });
});
