import { describe, expect, it } from '@jest/globals';
import { cutText } from './text.ts';

describe('cutText', () => {
  it('leaves a text that fits as it is', () => {
    expect(cutText('', 4)).toBe('');
    expect(cutText('abcd', 4)).toBe('abcd');
    expect(cutText('äb', 3)).toBe('äb');
  });

  it('cuts a longer text at its last whole character', () => {
    expect(cutText('abcde', 4)).toBe('abcd');
    expect(cutText('aäää', 4)).toBe('aä');
    expect(cutText('a😀b', 4)).toBe('a');
    expect(cutText('😀😀', 4)).toBe('😀');
    expect(cutText('€'.repeat(1000), 2048)).toBe('€'.repeat(682));
  });
});
