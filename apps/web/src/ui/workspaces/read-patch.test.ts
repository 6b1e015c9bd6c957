import { describe, expect, it } from '@jest/globals';
import { inPairs, readPatch } from './read-patch.ts';

const patch = `@@ -10,4 +10,5 @@ function total() {
 context
-old one
-old two
+new one
+new two
+new three
\\ No newline at end of file
@@ -90 +91 @@
-@@ a line that looks like a hunk
+--- and one like a header
`;

describe('a patch', () => {
  it('is read with the numbers that its lines have in either file', () => {
    const { lines, left_out } = readPatch(patch, 100);
    expect(left_out).toBe(0);
    expect(lines.map(({ kind, old, new: now, text }) => [kind, old, now, text])).toEqual([
      ['hunk', null, null, '@@ -10,4 +10,5 @@ function total() {'],
      ['context', 10, 10, 'context'],
      ['removed', 11, null, 'old one'],
      ['removed', 12, null, 'old two'],
      ['added', null, 11, 'new one'],
      ['added', null, 12, 'new two'],
      ['added', null, 13, 'new three'],
      ['note', null, null, 'No newline at end of file'],
      ['hunk', null, null, '@@ -90 +91 @@'],
      ['removed', 90, null, '@@ a line that looks like a hunk'],
      ['added', null, 91, '--- and one like a header'],
    ]);
  });

  it('is read as far as it is shown, and long lines are cut', () => {
    const { lines, left_out } = readPatch(`@@ -1 +1,3 @@\n+${'x'.repeat(5000)}\n+b\n+c\n`, 2);
    expect(left_out).toBe(2);
    expect(lines[1]!.text).toHaveLength(1001);
  });

  it('stands in two columns, changed lines beside each other', () => {
    const { lines } = readPatch(patch, 100);
    const told = inPairs(lines).map(({ before, after }) => [before?.text ?? null, after?.text ?? null]);
    expect(told).toEqual([
      ['@@ -10,4 +10,5 @@ function total() {', '@@ -10,4 +10,5 @@ function total() {'],
      ['context', 'context'],
      ['old one', 'new one'],
      ['old two', 'new two'],
      [null, 'new three'],
      ['@@ -90 +91 @@', '@@ -90 +91 @@'],
      ['@@ a line that looks like a hunk', '--- and one like a header'],
    ]);
  });

  it.each(['', '\n', 'no hunk at all', '@@ -1 +1 @@', '\\'])('of any text is no error: %j', (text) => {
    expect(() => inPairs(readPatch(text, 100).lines)).not.toThrow();
  });
});
