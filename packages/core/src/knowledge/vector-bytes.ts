/** Vectors as they are stored: exactly, and by their signs. */
import { endianness } from 'node:os';

export interface StoredVector {
  chunk_id: string;
  /** Of length 1. */
  vector: Float32Array;
}

/** Sign by sign, `1` above zero: near vectors have most of them in common. */
export function signsOf(vector: Float32Array): string {
  let signs = '';
  for (const number of vector) signs += number > 0 ? '1' : '0';
  return signs;
}

const swapped = endianness() === 'BE';

/** Little endian, whatever the machine. */
export function bytesOf(vector: Float32Array): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return swapped ? Buffer.from(bytes).swap32() : bytes;
}

export function vectorOf(bytes: Buffer): Float32Array {
  // A copy: its place within the buffer need not be a multiple of four.
  const copy = Buffer.from(bytes);
  if (swapped) copy.swap32();
  const { buffer, byteOffset, byteLength } = copy;
  return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
}
