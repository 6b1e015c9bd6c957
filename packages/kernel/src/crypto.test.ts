import { describe, expect, it } from '@jest/globals';
import { constantTimeEqual, hmacSha256Hex, isApiKey, newApiKey, newToken, sha256Hex } from './index.ts';

describe('crypto', () => {
  it('digests texts and bytes alike, by the published vectors', () => {
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(sha256Hex('abc')).toBe(abc);
    expect(sha256Hex(Buffer.from('abc'))).toBe(abc);
    expect(hmacSha256Hex('Jefe', 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  it('makes keys of 67 characters and tokens of 43, never twice the same', () => {
    expect(newApiKey()).toMatch(/^sk_[0-9a-f]{64}$/);
    expect(newToken()).toMatch(/^[\w-]{43}$/);
    expect(new Set(Array.from({ length: 50 }, newApiKey)).size).toBe(50);
    expect(new Set(Array.from({ length: 50 }, newToken)).size).toBe(50);
  });

  it('tells a key from what can be none', () => {
    const key = newApiKey();
    expect(isApiKey(key)).toBe(true);
    for (const text of ['', 'sk_', key.slice(1), `${key}0`, `${key}\n`, key.toUpperCase()])
      expect(isApiKey(text)).toBe(false);
  });

  it('compares values of any lengths', () => {
    expect(constantTimeEqual('secret', Buffer.from('secret'))).toBe(true);
    expect(constantTimeEqual('secret', 'secret ')).toBe(false);
    expect(constantTimeEqual('', 'a')).toBe(false);
    expect(constantTimeEqual('', '')).toBe(true);
  });
});
