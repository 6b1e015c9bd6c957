/** The thread that decodes a logo: exits cleanly or with the decoder's error. Loaded by logo-decoding.ts only. */
import { workerData } from 'node:worker_threads';
import { inflateSync } from 'node:zlib';
import { Jimp } from 'jimp';

const { bytes, type } = workerData as { bytes: Uint8Array; type: string };

const MAX_RAW_BYTES = 2000 * (2000 * 8 + 8);

/**
 * The decoder unpacks interlaced images without a limit, and a megabyte may unpack to a gigabyte; this sets one.
 * Throws for more data than the largest image that the header may declare.
 */
function boundPng(png: Buffer): void {
  const packed: Buffer[] = [];
  for (let at = 8; at + 8 <= png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') packed.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  inflateSync(Buffer.concat(packed), { maxOutputLength: MAX_RAW_BYTES });
}

const buffer = Buffer.from(bytes);
if (type === 'image/png') boundPng(buffer);
await Jimp.fromBuffer(buffer, { 'image/jpeg': { maxMemoryUsageInMB: 256, maxResolutionInMP: 4 } });
