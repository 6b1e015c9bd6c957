import { readdir } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { jobNames } from '@acp/contract';
import { jobHandlers } from '../job-handlers.ts';

describe('the job catalogue', () => {
  it('has one handler for each of its rows, in the file of its name', async () => {
    const files = await readdir(import.meta.dirname);
    const named = files.filter((file) => !file.endsWith('.test.ts')).map((file) => file.replace(/\.ts$/, ''));
    expect(named.toSorted()).toEqual(jobNames.toSorted());
    expect(Object.keys(jobHandlers).toSorted()).toEqual(jobNames.toSorted());
  });
});
