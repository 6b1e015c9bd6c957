import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keyFingerprint, Vault } from './vault.ts';

const key = randomBytes(32);
const vault = new Vault(key);

describe('the vault', () => {
  it('opens what it sealed, and seals the same value differently each time', () => {
    const sealed = vault.seal('s3cret ü', 'secrets/1');
    expect(vault.unseal(sealed, 'secrets/1')).toBe('s3cret ü');
    expect(vault.seal('s3cret ü', 'secrets/1')).not.toBe(sealed);
    expect(sealed).toContain(keyFingerprint(key));
    expect(sealed).not.toContain('s3cret');
  });

  it('does not open a text that was moved to another place', () => {
    const sealed = vault.seal('value', 'secrets/1');
    expect(() => vault.unseal(sealed, 'secrets/2')).toThrow(/authenticate/);
  });

  it.each([2, 3])('does not open a text whose part %i was changed', (part) => {
    const parts = vault.seal('value', 'secrets/1').split('.');
    const bytes = Buffer.from(parts[part]!, 'base64url');
    bytes[20]! ^= 1;
    parts[part] = bytes.toString('base64url');
    expect(() => vault.unseal(parts.join('.'), 'secrets/1')).toThrow(/authenticate/);
  });

  it('rewraps under a new key without the value being sealed again', () => {
    const next = randomBytes(32);
    const sealed = vault.seal('value', 'secrets/1');
    const rotating = new Vault(next, [key]);
    const rewrapped = rotating.rewrap(sealed, 'secrets/1');
    expect(new Vault(next).unseal(rewrapped, 'secrets/1')).toBe('value');
    expect(rewrapped.split('.')[3]).toBe(sealed.split('.')[3]);
    expect(rotating.rewrap(rewrapped, 'secrets/1')).toBe(rewrapped);
    expect(() => new Vault(next).unseal(sealed, 'secrets/1')).toThrow('is not configured');
  });

  it('signs for one purpose, and knows what a former key signed', () => {
    const signed = vault.sign('text', 'tokens');
    const rotating = new Vault(randomBytes(32), [key]);
    expect(rotating.isSigned('text', signed, 'tokens')).toBe(true);
    expect(rotating.isSigned('text', signed, 'others')).toBe(false);
    expect(rotating.isSigned('texts', signed, 'tokens')).toBe(false);
    expect(new Vault(randomBytes(32)).isSigned('text', signed, 'tokens')).toBe(false);
    expect(() => new Vault(null).sign('text', 'tokens')).toThrow('SERVICE_ENCRYPTION_KEY is not set');
  });

  it('stores nothing without a key', () => {
    const closed = new Vault(null);
    expect(closed.available).toBe(false);
    expect(() => closed.seal('value', 'secrets/1')).toThrow('SERVICE_ENCRYPTION_KEY is not set');
  });

  it.each(['', 'v1', 'v1.a.b', 'v2.a.b.c', 'v1.a.b.c'])('refuses %j, which is no sealed value', (text) => {
    expect(() => vault.unseal(text, 'secrets/1')).toThrow(/sealed|configured/);
  });
});
