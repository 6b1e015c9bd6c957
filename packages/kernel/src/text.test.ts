import { describe, expect, it } from '@jest/globals';
import { cutText, printable, readableJson } from './text.ts';

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

describe('printable', () => {
  it('writes as escapes what a terminal obeys, and nothing else', () => {
    const hostile = '\u001b[2J\u009b31m\r\n\t\0\u007f\u202egnp.exe\u2028\ud800';
    expect(printable(hostile)).toBe(
      String.raw`\u001b[2J\u009b31m\u000d\u000a\u0009\u0000\u007f\u202egnp.exe\u2028\ud800`,
    );
    const names = 'Zoë “Ada” 李 😀 👩‍👧 नमस्ते';
    expect(printable(names)).toBe(names);
    expect(JSON.parse(printable(JSON.stringify({ hostile })))).toEqual({ hostile });
  });
});

describe('readableJson', () => {
  it('is indented', () => {
    const value = { a: 1, b: ['x', { c: { d: null } }], e: {}, f: Array.from({ length: 1000 }, (_, n) => n) };
    expect(readableJson(value)).toBe(JSON.stringify(value, null, 2));
    expect(readableJson('a')).toBe('"a"');
    expect(readableJson(undefined)).toBe('');
  });

  it('never becomes many times as long, however deeply it is nested', () => {
    let value: unknown = Array.from({ length: 100_000 }, () => 0);
    for (let level = 0; level < 50; level += 1) value = { a: value };
    const compact = JSON.stringify(value);
    expect(readableJson(value)).toBe(compact);
    // A text in it may look like anything.
    const text = { text: '{["'.repeat(1000) };
    expect(readableJson(text)).toBe(JSON.stringify(text, null, 2));
  });
});
