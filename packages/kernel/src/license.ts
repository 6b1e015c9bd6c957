/**
 * Licenses: signed offline by the vendor, verified offline by an instance. A token is `<payload>.<signature>`, both
 * base64url; the payload is JSON, and the signature is Ed25519 over the payload's text exactly as it appears in the token.
 */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { invalid } from './errors.ts';
import { isUuid } from './ids.ts';

export interface License {
  readonly id: string;
  /** Who it was issued to. */
  readonly holder: string;
  /** Null: does not expire. */
  readonly expires_at: Date | null;
}

// An Ed25519 key in SPKI form is this prefix followed by its 32 bytes.
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const LONGEST_TOKEN = 4096;

/** @param bytes the 32 bytes of an Ed25519 public key */
export function licenseKey(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
}

/**
 * Verifies a token and returns what it grants; the caller checks whether it has expired.
 * @throws invalid for a malformed token or one signed by another key
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
 * Verifies a license entered by an operator.
 * @param public_key the vendor's; null: this build has none
 * @throws invalid like `readLicense`, and if there is no key to verify it with
 */
export function readGivenLicense(token: string, public_key: Uint8Array | null): License {
  if (public_key === null)
    throw invalid('the license cannot be verified: SERVICE_LICENSE_PUBLIC_KEY is not set');
  return readLicense(token, licenseKey(public_key));
}

/** The vendor's side, for the tool that issues licenses and for tests. */
export function issueLicense(license: License, privateKey: KeyObject): string {
  const payload = Buffer.from(JSON.stringify(license)).toString('base64url');
  return `${payload}.${sign(null, Buffer.from(payload), privateKey).toString('base64url')}`;
}
