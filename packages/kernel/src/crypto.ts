import { createHash, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

type Data = string | Uint8Array;

export function sha256Hex(data: Data): string {
  return hash('sha256', data, 'hex');
}

export function hmacSha256Hex(key: Data, data: Data): string {
  return createHmac('sha256', key).update(data).digest('hex');
}

/** A fresh API key: `sk_` and 32 random bytes as hex, 67 characters (specification, Authentication 1). */
export function newApiKey(): string {
  return `sk_${randomBytes(32).toString('hex')}`;
}

/** Whether the text has the form of an API key, so that garbage never costs a lookup. */
export function isApiKey(text: string): boolean {
  return /^sk_[0-9a-f]{64}$/.test(text);
}

/** A fresh URL-safe token of 256 bits, 43 characters, for sessions, invites and one-time links. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Constant-time comparison: timing reveals neither the position of a difference nor the lengths. */
export function constantTimeEqual(a: Data, b: Data): boolean {
  // timingSafeEqual requires equal lengths, which the digests have.
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
