import { deflateSync, crc32 } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { assertDecodes } from './logo-decoding.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

it('an image may keep the decoder busy for as long as the limit, and no longer', async () => {
  await expect(assertDecodes('one', png, 'image/png')).resolves.toBeUndefined();
  await expect(assertDecodes('one', png, 'image/png', 1)).rejects.toMatchObject({ kind: 'unsupported' });
});

it('images are decoded one after the other, and a company has five in the line', async () => {
  const order: string[] = [];
  const queue = async (name: string) => assertDecodes(name, png, 'image/png').then(() => order.push(name));
  const five = Array.from({ length: 5 }, async () => queue('one'));
  await expect(queue('one')).rejects.toMatchObject({ kind: 'rate_limited' });
  await Promise.all([...five, queue('other')]);
  expect(order).toEqual([...Array.from({ length: 5 }, () => 'one'), 'other']);
  await expect(assertDecodes('one', png, 'image/png')).resolves.toBeUndefined();
});

it('a second header is refused before room is made for the size that it declares', async () => {
  const [width, height] = [15_000, 15_000];
  const raw = Buffer.alloc((width / 8 + 1) * height);
  const bomb = Buffer.concat([
    png.subarray(0, 8),
    header(1, 1),
    header(width, height),
    chunk('IDAT', deflateSync(raw)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  let peak = process.memoryUsage.rss();
  const before = peak;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 10);
  await expect(assertDecodes('one', bomb, 'image/png')).rejects.toMatchObject({ kind: 'unsupported' });
  clearInterval(watch);
  expect(peak - before).toBeLessThan(400e6);
});

function header(width: number, height: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.writeUInt8(1, 8);
  return chunk('IHDR', data);
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
