import { expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { loadConfig } from '@acp/kernel';
import { waitFor } from '@acp/testkit';
import { sandboxed } from './sandbox.ts';

const bare = (command: readonly string[]) =>
  sandboxed(
    loadConfig({ DATABASE_URL: 'postgres://nowhere' }),
    { kind: 'bare', why: 'of the test' },
    { id: 'p', fence: 1, workspace: '/tmp', command, variables: () => ({}) },
  );

/** Starts the program as a scheduler of the same process id does, prints its process id, and waits to be killed. */
const HOST = `
  const [program, ...args] = JSON.parse(process.argv[1]).map((word) => (word === process.argv[2] ? String(process.pid) : word));
  const child = require('node:child_process').spawn(program, args, { stdio: 'ignore', detached: true });
  console.log(child.pid);
  setInterval(() => undefined, 1000);`;

it('a bare program ends with a scheduler that is killed, though it does not look at its input', async () => {
  const { command } = bare(['sleep', '600']);
  const host = spawn(process.execPath, ['-e', HOST, JSON.stringify(command), `${process.pid}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(host.stdout), 'line')) as [string];
  const lives = () => existsSync(`/proc/${line}`);
  expect(lives()).toBe(true);
  host.kill('SIGKILL');
  await waitFor(() => !lives(), { what: 'the end of the program' });
});

it('a bare program does not begin once its scheduler is gone', () => {
  const { command } = bare(['echo', 'begins']);
  const start = ([program = '', ...args]: readonly string[]) =>
    spawnSync(program, args, { encoding: 'utf8' }).stdout.trim();
  expect(start(command)).toBe('begins');
  // What has another parent by then; init, for one.
  expect(start(['/bin/sh', '-c', '"$@"; exit', 'init', ...command])).toBe('');
});
