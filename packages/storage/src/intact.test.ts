import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { damagedFile, readIntact } from './index.ts';

const file = { size_bytes: 5, sha256: createHash('sha256').update('whole').digest('hex') };
const damaged = damagedFile('notes.txt');

it('a stored file is read to its end, and only as it was stored', async () => {
  const read = async (content: string) => {
    let got = '';
    const body = Readable.from([Buffer.from(content.slice(0, 2)), Buffer.from(content.slice(2))]);
    await readIntact(body, file, damaged, async (bytes) => {
      got = await text(Readable.from(bytes));
    });
    return got;
  };
  expect(await read('whole')).toBe('whole');
  for (const other of ['whale', 'whol', 'whole!'])
    await expect(read(other)).rejects.toThrow('the stored file is damaged: notes.txt');
});

it('what the store has opened is closed, though its reader failed before it began', async () => {
  const body = Readable.from([Buffer.from('whole')]);
  const reading = readIntact(body, file, damaged, async () => Promise.reject(new Error('the disk is full')));
  await expect(reading).rejects.toThrow('the disk is full');
  expect(body.destroyed).toBe(true);
});
