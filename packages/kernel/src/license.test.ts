import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { issueLicense, licenseKey, readGivenLicense, readLicense } from './license.ts';

const pair = generateKeyPairSync('ed25519');
const key = licenseKey(pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
const license = {
  id: '6b3f6f3e-6a5e-4d0c-9a8e-0c5d3a1b2c3d',
  holder: 'Acme Ltd – Köln',
  expires_at: new Date('2030-01-01T00:00:00Z'),
};

describe('a license', () => {
  it('says what was signed, with an end or without', () => {
    expect(readLicense(` ${issueLicense(license, pair.privateKey)}\n`, key)).toEqual(license);
    const endless = { ...license, expires_at: null };
    expect(readLicense(issueLicense(endless, pair.privateKey), key)).toEqual(endless);
  });

  it('can not be verified without a key', () => {
    const token = issueLicense(license, pair.privateKey);
    expect(() => readGivenLicense(token, null)).toThrow('SERVICE_LICENSE_PUBLIC_KEY is not set');
  });

  it('that another key signed, or that was changed since, is refused', () => {
    const other = generateKeyPairSync('ed25519').privateKey;
    const refused = { kind: 'invalid', message: 'the license was not issued for this service' };
    expect(() => readLicense(issueLicense(license, other), key)).toThrow(expect.objectContaining(refused));
    const [, signature] = issueLicense(license, pair.privateKey).split('.');
    const longer = Buffer.from(JSON.stringify({ ...license, expires_at: null })).toString('base64url');
    expect(() => readLicense(`${longer}.${signature}`, key)).toThrow(expect.objectContaining(refused));
  });

  it.each(['', '.', 'a', 'a.b.c', 'x'.repeat(5000)])('that is none (%#) is refused', (token) => {
    expect(() => readLicense(token, key)).toThrow('the license');
  });
});
