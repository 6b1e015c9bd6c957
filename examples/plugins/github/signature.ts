import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whether `X-Hub-Signature-256` is GitHub's signature of these bytes; compared in constant time. */
export function signedBy(secret: string, body: Uint8Array, header: string | undefined): boolean {
  const wanted = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(header ?? '');
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
