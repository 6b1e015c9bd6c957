/** What ends a worker's start. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawnWorker } from '@acp/testkit';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'worker-start-'));
});
afterAll(async () => rm(home, { recursive: true, force: true }));

// Nothing listens there: a worker waits for its service.
const env = {
  SERVICE_SERVER_URL: 'http://127.0.0.1:9',
  SERVICE_WORKER_KEY: 'a key of sixteen',
  SERVICE_WORKER_NAME: 'a',
};

it('another process is the same worker: the second says so and exits at once', async () => {
  const first = spawnWorker({ ...env, SERVICE_HOME: home });
  await first.logged('ready');
  const second = spawnWorker({ ...env, SERVICE_HOME: home });
  const { error } = await second.logged('could not start');
  expect(error).toMatchObject({ message: expect.stringContaining('already running in another process') });
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.log).toHaveLength(1);
  await first.stop();
});

it('its models are malformed: the variable is named', async () => {
  const worker = spawnWorker({ ...env, SERVICE_HOME: home, SERVICE_WORKER_SHARED_MODELS: 'small' });
  expect(await worker.ended).toEqual({ code: 78, signal: null });
  expect(worker.output()).toContain('invalid configuration\n  SERVICE_WORKER_SHARED_MODELS: ');
});
