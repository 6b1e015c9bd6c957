/** The thread that decodes a logo: exits cleanly or with the decoder's error. Loaded by logo-decoding.ts only. */
import { workerData } from 'node:worker_threads';
import { inflateSync } from 'node:zlib';
import { Jimp } from 'jimp';

const { bytes, type } = workerData as { bytes: Uint8Array; type: string };

const MAX_RAW_BYTES = 2000 * (2000 * 8 + 8);

/**
 * The image without what follows its last chunk, which the decoder would refuse. The decoder also unpacks interlaced images
 * without a limit, and a megabyte may unpack to a gigabyte; of several headers it takes the last, and the first was checked.
 * @throws for several headers, and for more data than the largest image that one may declare
 */
function boundedPng(png: Buffer): Buffer {
  const packed: Buffer[] = [];
  let at = 8;
  for (let name = ''; at + 8 <= png.length && name !== 'IEND';) {
    const length = png.readUInt32BE(at);
    name = png.toString('latin1', at + 4, at + 8);
    if (name === 'IHDR' && at > 8) throw new Error('a second header');
    if (name === 'IDAT') packed.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  inflateSync(Buffer.concat(packed), { maxOutputLength: MAX_RAW_BYTES });
  return png.subarray(0, at);
}

const buffer = Buffer.from(bytes);
const image = type === 'image/png' ? boundedPng(buffer) : buffer;
await Jimp.fromBuffer(image, { 'image/jpeg': { maxMemoryUsageInMB: 256, maxResolutionInMP: 4 } });
