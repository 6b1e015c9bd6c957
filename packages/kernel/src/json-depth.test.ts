import { describe, expect, it } from '@jest/globals';
import { isNestedDeeper, JsonDepth } from './json-depth.ts';

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

describe('JsonDepth', () => {
  it('goes on where the last chunk ended, within a text too', () => {
    const depth = new JsonDepth();
    const read = (text: string) => depth.read(Buffer.from(text));
    expect(read('[{"a\\')).toBe(2);
    expect(read('"[[[')).toBe(2);
    expect(read('":[')).toBe(3);
    expect(read(']}]')).toBe(3);
    expect(read('1')).toBe(0);
  });

  it('begins each line outside of texts', () => {
    expect(new JsonDepth().read(Buffer.from('data: "\n\n[[["'))).toBe(3);
  });
});
