/** Rules 2 to 4 of the webhook ingress. Pure. */
import { constantTimeEqual, hmacSha256Hex, unauthenticated } from '@acp/kernel';

export interface SignedRequest {
  /** As sent: the signature covers the bytes. */
  body: Uint8Array;
  /** `X-Service-Signature`. */
  signature: string | undefined;
  /** `X-Service-Timestamp`: Unix seconds. */
  timestamp: string | undefined;
}

/** Accepted difference from the server's clock, in either direction. */
export const TOLERANCE_SEC = 300;

/**
 * @param mode the trigger's own: omitting parts of the request can't weaken it
 * @param now_sec Unix seconds
 * @throws unauthenticated, in the specification's words
 */
export function verifySignature(
  mode: string,
  secret: string,
  { body, signature, timestamp }: SignedRequest,
  now_sec: number,
): void {
  if (mode === 'none') return;
  if (!signature) throw unauthenticated('missing signature');
  const signed = mode === 'hmac_ts' ? stamped(timestamp, body, now_sec) : body;
  // The hex digits of a hash are case-insensitive.
  if (!constantTimeEqual(signature.trim().toLowerCase(), hmacSha256Hex(secret, signed))) {
    throw unauthenticated('invalid signature');
  }
}

/** The timestamp as written, a dot, the body. */
function stamped(timestamp: string | undefined, body: Uint8Array, now_sec: number): Uint8Array {
  if (!timestamp) throw unauthenticated('missing timestamp');
  if (!/^-?\d{1,15}$/.test(timestamp)) throw unauthenticated('invalid timestamp');
  if (Math.abs(now_sec - Number(timestamp)) > TOLERANCE_SEC)
    throw unauthenticated('timestamp out of tolerance');
  return Buffer.concat([Buffer.from(`${timestamp}.`), body]);
}
