/**
 * Reads type and size of an image from its first bytes without decoding a pixel: a small file may claim a huge size, which must
 * be known before anything is unpacked. Pure; undefined for anything but the four types.
 */
import type { LogoType } from '@acp/contract';

interface ImageHeader {
  type: LogoType;
  width: number;
  height: number;
  /** Nothing but zeros or an end mark follows, so that there are no pixels to decode. */
  is_all: boolean;
}

export function readImageHeader(bytes: Buffer): ImageHeader | undefined {
  try {
    return png(bytes) ?? gif(bytes) ?? webp(bytes) ?? jpeg(bytes);
  } catch {
    // Reading past the end: the file is truncated.
    return undefined;
  }
}

/** @param marks the format's ends: of a header alone, any may follow */
function isAll(bytes: Buffer, end: number, marks: readonly string[]): boolean {
  const rest = bytes.toString('latin1', end);
  const mark = marks.find((each) => rest.startsWith(each)) ?? '';
  return /^\0*$/.test(rest.slice(mark.length));
}

const tag = (bytes: Buffer, from: number, to: number) => bytes.toString('latin1', from, to);

function png(bytes: Buffer): ImageHeader | undefined {
  if (tag(bytes, 0, 8) !== '\x89PNG\r\n\x1a\n' || tag(bytes, 12, 16) !== 'IHDR') return undefined;
  const is_all = isAll(bytes, 33, ['\0\0\0\0IEND\xae\x42\x60\x82']);
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), is_all };
}

/**
 * A frame has a size of its own, which is what a decoder makes room for, whatever the size of the screen at the beginning. Every
 * block before the first frame contains its own length.
 */
function gif(bytes: Buffer): ImageHeader | undefined {
  if (!/^GIF8[79]a$/.test(tag(bytes, 0, 6))) return undefined;
  const flags = bytes.readUInt8(10);
  let at = 13 + paletteBytes(flags);
  const screen = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  if (at <= bytes.length && isAll(bytes, at, ['\x3b', '\x2c']))
    return { type: 'image/gif', ...screen, is_all: true };
  for (; bytes.readUInt8(at) !== 0x2c; at += 1) {
    if (bytes[at] !== 0x21) return undefined;
    for (at += 2; bytes.readUInt8(at) !== 0;) at += 1 + bytes.readUInt8(at);
  }
  const width = Math.max(screen.width, bytes.readUInt16LE(at + 5));
  const height = Math.max(screen.height, bytes.readUInt16LE(at + 7));
  return { type: 'image/gif', width, height, is_all: false };
}

const paletteBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** The first chunk is one of three kinds: lossy, lossless, extended. */
function webp(bytes: Buffer): ImageHeader | undefined {
  if (tag(bytes, 0, 4) !== 'RIFF' || tag(bytes, 8, 12) !== 'WEBP') return undefined;
  const [type, is_all] = ['image/webp', false] as const;
  switch (tag(bytes, 12, 16)) {
    case 'VP8 ':
      if (tag(bytes, 23, 26) !== '\x9d\x01\x2a') return undefined;
      return {
        type,
        width: bytes.readUInt16LE(26) & 0x3fff,
        height: bytes.readUInt16LE(28) & 0x3fff,
        is_all,
      };
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return undefined;
      const bits = bytes.readUInt32LE(21);
      return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, is_all };
    }
    case 'VP8X':
      return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, is_all };
    default:
      return undefined;
  }
}

/** The size is in the first frame header (SOF); every segment before it contains its own length. */
function jpeg(bytes: Buffer): ImageHeader | undefined {
  if (bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; ;) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      // Fill bytes before a marker.
      at += 1;
      continue;
    }
    // C4, C8 and CC are tables, not frames.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return {
        type: 'image/jpeg',
        width: bytes.readUInt16BE(at + 7),
        height: bytes.readUInt16BE(at + 5),
        is_all: isAll(bytes, at + 2 + bytes.readUInt16BE(at + 2), ['\xff\xd9']),
      };
    if (marker === 0xd9 || marker === 0xda) return undefined;
    at += 2 + bytes.readUInt16BE(at + 2);
  }
}
