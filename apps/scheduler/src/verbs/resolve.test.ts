import { describe, expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import { looksLikeIssue, plain } from './resolve.ts';

describe('the marks around a word', () => {
  it.each([
    ['**ABC-12**', 'ABC-12'],
    ['`done`.', 'done'],
    ['“high”,', 'high'],
    ['#ABC-12:', 'ABC-12'],
    ['ABC-12#', 'ABC-12#'],
    ['.done', '.done'],
    ['a.b', 'a.b'],
    ['***', ''],
    ['#.', ''],
    ['', ''],
  ])('of %j are left out', (word, bare) => {
    expect(plain(word)).toBe(bare);
  });

  it.each([
    ['inside a word', `x${'*'.repeat(1_000_000)}x`],
    ['before a word', `${'*'.repeat(1_000_000)}x`],
    ['after a word', `x${'*'.repeat(1_000_000)}`],
  ])('that are a million and stand %s take linear time', (_case, word) => {
    // Quadratic behaviour would take half an hour.
    expect(cpuMs(() => looksLikeIssue(word))).toBeLessThan(20_000);
  });
});
