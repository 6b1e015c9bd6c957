import { describe, expect, it } from '@jest/globals';
import { cutText, isNestedDeeper } from './text.ts';

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

describe('isNestedDeeper', () => {
  it('counts brackets outside of texts only', () => {
    expect(isNestedDeeper('[{"a":[]}]', 3)).toBe(false);
    expect(isNestedDeeper('[{"a":[]}]', 2)).toBe(true);
    expect(isNestedDeeper('[[],[],[],[]]', 2)).toBe(false);
    expect(isNestedDeeper(String.raw`["[[[[\"[[[["]`, 1)).toBe(false);
    expect(isNestedDeeper(String.raw`["\\"[[`, 2)).toBe(true);
    expect(isNestedDeeper('['.repeat(1_000_000), 64)).toBe(true);
  });
});
