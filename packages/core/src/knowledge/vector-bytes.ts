/** Storage formats of vectors: exact, and signs only. */
import { endianness } from 'node:os';

export interface StoredVector {
  chunk_id: string;
  /** Normalised to length 1. */
  vector: Float32Array;
}

/** One bit per component, `1` above zero: near vectors share most of them. */
export function signsOf(vector: Float32Array): string {
  let signs = '';
  for (const number of vector) signs += number > 0 ? '1' : '0';
  return signs;
}

const swapped = endianness() === 'BE';

/** Little endian on every machine. */
export function bytesOf(vector: Float32Array): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return swapped ? Buffer.from(bytes).swap32() : bytes;
}

export function vectorOf(bytes: Buffer): Float32Array {
  // A copy, because the bytes' offset in the buffer may not be a multiple of four.
  const copy = Buffer.from(bytes);
  if (swapped) copy.swap32();
  const { buffer, byteOffset, byteLength } = copy;
  return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
}
