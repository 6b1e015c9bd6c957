import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { repositoryRoot } from '@acp/kernel';
import { waitFor } from '@acp/testkit';

let folder: string;
const home = () => path.join(folder, 'home');
const pidFile = () => path.join(home(), 'postgres/data/postmaster.pid');

beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/ctl-interruption-');
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

function ctl(...words: string[]): ChildProcess {
  const main = path.join(repositoryRoot, 'apps/ctl/src/main.mjs');
  const env = { PATH: process.env.PATH, SERVICE_HOME: home() };
  return spawn(process.execPath, [main, ...words], { cwd: folder, env, stdio: 'ignore' });
}

describe('a command that is ended by a signal', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'stops the database that it was starting, on %s',
    async (signal) => {
      const child = ctl('db', 'status');
      await waitFor(() => existsSync(pidFile()), { what: 'the start of the database' });
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([null, signal]);
      expect(existsSync(pidFile())).toBe(false);
    },
  );

  it('stops the database that it was using', async () => {
    execFileSync('mkfifo', [path.join(folder, 'silent')]);
    const child = ctl('db', 'verify', '--file', './silent');
    const clients = async () => readdir(path.join(home(), 'postgres/clients')).catch(() => []);
    await waitFor(async () => (await clients()).length > 0, { what: 'its use of the database' });
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
    expect([await clients(), existsSync(pidFile())]).toEqual([[], false]);
  });
});
