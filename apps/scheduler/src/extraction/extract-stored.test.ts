import { expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import type { SchedulerContext } from '../context.ts';
import { extractStored } from './extract-stored.ts';

it('closes what the store has opened, though the job was ended before it was read', async () => {
  const body = Readable.from([Buffer.from('x')]);
  const ended = AbortSignal.abort(new Error('the job has ended'));
  const sources = { config: { home: '/nowhere' }, storage: { get: async () => Promise.resolve(body) } };
  const file = { kind: 'plain', size_bytes: 1, storage_key: 'k' } as const;
  const extracting = extractStored(sources as unknown as SchedulerContext, file, ended);
  await expect(extracting).rejects.toThrow('the job has ended');
  expect(body.destroyed).toBe(true);
});
