import { describe, expect, it } from '@jest/globals';
import { checkLogoHeader } from './logo.ts';
import { readImageHeader } from './image-header.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

function png(width: number, height: number): Buffer {
  const bytes = hex('89504e470d0a1a0a 0000000d 49484452 00000000 00000000 0806000000');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

/** With a palette and a comment before the frame. */
function gif(screen: [number, number], frame: [number, number]): Buffer {
  const bytes = hex('474946383961 00000000 800000 000000ffffff 21fe 02 6161 00 2c 00000000 00000000 00');
  screen.forEach((length, at) => bytes.writeUInt16LE(length, 6 + 2 * at));
  frame.forEach((length, at) => bytes.writeUInt16LE(length, 30 + 2 * at));
  return bytes;
}

const riff = (chunk: string) => Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP'), hex(chunk)]);

describe('readImageHeader', () => {
  it.each([
    ['PNG', png(300, 200), { type: 'image/png', width: 300, height: 200 }],
    ['GIF', gif([300, 200], [300, 200]), { type: 'image/gif', width: 300, height: 200 }],
    [
      'JPEG with a table, fill bytes and a comment before the frame',
      hex('ffd8 ffe00004 0000 ffc40004 0000 ffff fe0003 00 ffc2000b08 00c8 012c 03'),
      { type: 'image/jpeg', width: 300, height: 200 },
    ],
    [
      'lossy WebP',
      riff('56503820 00000000 000000 9d012a 2c01 c800'),
      { type: 'image/webp', width: 300, height: 200 },
    ],
    ['lossless WebP', riff('5650384c 00000000 2f 2bc13100'), { type: 'image/webp', width: 300, height: 200 }],
    [
      'extended WebP',
      riff('56503858 00000000 00000000 2b0100 c70000'),
      { type: 'image/webp', width: 300, height: 200 },
    ],
  ] as const)('%s: type and size', (_what, bytes, expected) => {
    expect(readImageHeader(bytes)).toMatchObject(expected);
  });

  it.each([
    [
      'PNG',
      Buffer.concat([png(3, 2), Buffer.alloc(4)]),
      '00000000 49454e44 ae426082',
      '00000001 49444154 00',
    ],
    ['GIF', gif([3, 2], [3, 2]).subarray(0, 19), '3b', '21fe'],
    ['GIF with the beginning of a frame', gif([3, 2], [3, 2]).subarray(0, 19), '2c', '2c00000000030002'],
    ['JPEG', hex('ffd8 ffc0000b08 0002 0003 01 011100'), 'ffd9', 'ffda'],
  ])(
    '%s of a header alone, with or without an end and zeros: there are no pixels',
    (_what, header, end, more) => {
      const [size, zeros] = [{ width: 3, height: 2 }, Buffer.alloc(1000)];
      for (const rest of [Buffer.alloc(0), zeros, hex(end), Buffer.concat([hex(end), zeros])])
        expect(readImageHeader(Buffer.concat([header, rest]))).toMatchObject({ ...size, is_all: true });
      expect(readImageHeader(Buffer.concat([header, hex(more), zeros]))?.is_all).not.toBe(true);
    },
  );

  it('every beginning of an image, and noise: undefined, and it ends', () => {
    const jpeg = hex('ffd8 ffe00004 0000 ffc0000b08 00c8 012c 03');
    for (const image of [
      png(1, 1).subarray(0, 23),
      gif([1, 1], [1, 1]).subarray(0, 19),
      jpeg.subarray(0, 16),
    ])
      for (let length = 0; length < image.length; length += 1)
        expect(readImageHeader(image.subarray(0, length))).toBeUndefined();
    expect(readImageHeader(Buffer.alloc(100, 0xff))).toBeUndefined();
    expect(readImageHeader(hex('ffd8 ffd9'))).toBeUndefined();
    expect(readImageHeader(hex(`ffd8${'ffe00002'.repeat(1000)}`))).toBeUndefined();
    expect(readImageHeader(hex(`ffd8${'ffe00000'.repeat(10)}`))).toBeUndefined();
  });
});

describe('checkLogoHeader', () => {
  it('takes 2000 by 2000 pixels of the declared type', () => {
    expect(checkLogoHeader(png(2000, 2000), 'image/png')).toMatchObject({ content_type: 'image/png' });
  });

  it.each([
    ['too wide', png(2001, 1), 'image/png'],
    ['too high', png(1, 2001), 'image/png'],
    ['whose frame is wider than its screen', gif([10, 10], [60_000, 10]), 'image/gif'],
    ['whose frame is higher than its screen', gif([10, 10], [10, 60_000]), 'image/gif'],
    ['without a frame', gif([10, 10], [10, 10]).subarray(0, 25), 'image/gif'],
    ['without pixels', png(0, 1), 'image/png'],
    ['declared as something else', png(1, 1), 'image/gif'],
    ['SVG', Buffer.from('<svg/>'), 'image/svg+xml'],
  ])('%s: unsupported', (_what, bytes, type) => {
    expect(() => checkLogoHeader(bytes, type)).toThrow(expect.objectContaining({ kind: 'unsupported' }));
  });
});
