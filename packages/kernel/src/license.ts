/**
 * Licenses: what the vendor signs offline and an instance verifies offline. A token is `<payload>.<signature>`, both
 * base64url; the payload is JSON, the signature Ed25519 over the payload's text as it stands in the token.
 */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { invalid } from './errors.ts';
import { isUuid } from './ids.ts';

export interface License {
  readonly id: string;
  /** Who it was issued to. */
  readonly holder: string;
  /** Null: without an end. */
  readonly expires_at: Date | null;
}

// An Ed25519 key in SPKI form is this, and then its 32 bytes.
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const LONGEST_TOKEN = 4096;

/** @param bytes the 32 bytes of an Ed25519 public key */
export function licenseKey(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
}

/**
 * What the token grants; whether it is over already is the caller's to say.
 * @throws invalid for what is no token, or one that another key signed
 */
export function readLicense(token: string, key: KeyObject): License {
  const [payload, signature, rest] = token.trim().split('.');
  if (!payload || !signature || rest !== undefined || token.length > LONGEST_TOKEN)
    throw invalid('the license is malformed');
  if (!verify(null, Buffer.from(payload), key, Buffer.from(signature, 'base64url')))
    throw invalid('the license was not issued for this service');
  return licenseOf(payload);
}

function licenseOf(payload: string): License {
  const { id, holder, expires_at }: Record<string, unknown> = JSON.parse(
    Buffer.from(payload, 'base64url').toString('utf8'),
  );
  const end = typeof expires_at === 'string' ? new Date(expires_at) : null;
  if (!isUuid(id) || typeof holder !== 'string' || (end !== null && Number.isNaN(end.getTime())))
    throw invalid('the license is malformed');
  return { id, holder, expires_at: end };
}

/**
 * A license as an operator gives it.
 * @param public_key of the vendor; null: this build has none
 * @throws invalid as `readLicense`, and where there is no key to verify it with
 */
export function readGivenLicense(token: string, public_key: Uint8Array | null): License {
  if (public_key === null)
    throw invalid('the license cannot be verified: SERVICE_LICENSE_PUBLIC_KEY is not set');
  return readLicense(token, licenseKey(public_key));
}

/** The vendor's side: for the tool that issues licenses, and for tests. */
export function issueLicense(license: License, privateKey: KeyObject): string {
  const payload = Buffer.from(JSON.stringify(license)).toString('base64url');
  return `${payload}.${sign(null, Buffer.from(payload), privateKey).toString('base64url')}`;
}
