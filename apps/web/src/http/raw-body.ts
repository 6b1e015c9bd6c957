import { tooLarge } from '@acp/kernel';
import express from 'express';
import type { Request, Response } from 'express';

const MAX_BYTES = 1024 * 1024;

// Not inflated: a signature covers the bytes as sent. A compressed body is 415.
const reader = (limit: number) => express.raw({ limit, type: () => true, inflate: false });
const readers = new Map([[MAX_BYTES, reader(MAX_BYTES)]]);

/** The bytes of the body, empty if there is none. Throws 413 or 415; the reader's errors are mapped in errors.ts. */
export async function readRawBody(
  request: Request,
  response: Response,
  maxBytes = MAX_BYTES,
): Promise<Uint8Array> {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  if (transfer === undefined && (length === undefined || length === '0')) return Buffer.alloc(0);
  // The reader would first receive everything that it is going to refuse.
  if (Number(length) > maxBytes) throw tooLarge('payload too large');
  const read = readers.get(maxBytes) ?? reader(maxBytes);
  readers.set(maxBytes, read);
  await new Promise<void>((resolve, reject) => {
    read(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the body reader failed', { cause: error }));
    });
  });
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}
