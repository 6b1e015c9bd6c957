import { expect, it } from '@jest/globals';
import { assertDecodes } from './logo-decoding.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

it('an image may keep the decoder busy for as long as the limit, and no longer', async () => {
  await expect(assertDecodes(png, 'image/png')).resolves.toBeUndefined();
  await expect(assertDecodes(png, 'image/png', 1)).rejects.toMatchObject({ kind: 'unsupported' });
});
