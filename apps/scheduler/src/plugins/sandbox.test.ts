import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { loadConfig } from '@acp/kernel';
import { waitFor } from '@acp/testkit';
import { sandboxed } from './sandbox.ts';

/** Starts a program as a host does, prints its process id, and waits to be killed. */
const HOST = `
  const [program, ...args] = JSON.parse(process.argv[1]);
  const child = require('node:child_process').spawn(program, args, { stdio: 'ignore', detached: true });
  console.log(child.pid);
  setInterval(() => undefined, 1000);`;

it('a bare program ends with a scheduler that is killed, though it does not look at its input', async () => {
  const { command } = sandboxed(
    loadConfig({ DATABASE_URL: 'postgres://nowhere' }),
    { kind: 'bare', why: 'of the test' },
    { id: 'p', fence: 1, workspace: '/tmp', command: ['sleep', '600'], variables: () => ({}) },
  );
  const host = spawn(process.execPath, ['-e', HOST, JSON.stringify(command)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(host.stdout), 'line')) as [string];
  const lives = () => existsSync(`/proc/${line}`);
  expect(lives()).toBe(true);
  host.kill('SIGKILL');
  await waitFor(() => !lives(), { what: 'the end of the program' });
});
