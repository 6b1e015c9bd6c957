import { tooLarge } from '@acp/kernel';
import express from 'express';
import type { Request, Response } from 'express';

const MAX_BYTES = 1024 * 1024;

// Not inflated: a signature is over the bytes as they were sent. A compressed body is 415.
const read = express.raw({ limit: MAX_BYTES, type: () => true, inflate: false });

/** The bytes of the body, none where there is none. Throws 413 or 415; the reader's errors are mapped in errors.ts. */
export async function readRawBody(request: Request, response: Response): Promise<Uint8Array> {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  if (transfer === undefined && (length === undefined || length === '0')) return Buffer.alloc(0);
  // The reader would first take in all of what it is going to refuse.
  if (Number(length) > MAX_BYTES) throw tooLarge('payload too large');
  await new Promise<void>((resolve, reject) => {
    read(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the body reader failed', { cause: error }));
    });
  });
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}
