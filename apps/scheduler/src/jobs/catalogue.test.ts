import { readdir } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { commandCatalogue, jobNames } from '@acp/contract';
import { loadConfig } from '@acp/kernel';
import type { SchedulerContext } from '../context.ts';
import { jobHandlers } from '../job-handlers.ts';
import { commandHandlers } from './run-command.ts';

describe('the job catalogue', () => {
  it('has one handler for each of its rows, in the file of its name', async () => {
    const files = await readdir(import.meta.dirname);
    const named = files.filter((file) => !file.endsWith('.test.ts')).map((file) => file.replace(/\.ts$/, ''));
    expect(named.toSorted()).toEqual(jobNames.toSorted());
    expect(Object.keys(jobHandlers).toSorted()).toEqual(jobNames.toSorted());
  });
});

describe('the command catalogue', () => {
  it('has one handler for each of its rows, and no deadline that a request does not wait for', () => {
    expect(Object.keys(commandHandlers({ config: loadConfig({}) } as SchedulerContext)).toSorted()).toEqual(
      Object.keys(commandCatalogue).toSorted(),
    );
    for (const { deadline_sec } of Object.values(commandCatalogue))
      expect(deadline_sec).toBeLessThanOrEqual(30);
  });
});
