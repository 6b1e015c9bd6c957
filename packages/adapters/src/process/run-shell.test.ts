import { expect, it } from '@jest/globals';
import { newId } from '@acp/kernel';
import { markedProcesses } from './marked.ts';
import { runShell } from './run-shell.ts';

it('commands whose output nobody can take are ended', async () => {
  const run_id = newId();
  const program = {
    command: [],
    home: '/tmp',
    cwd: '/',
    env: { PATH: process.env.PATH ?? '', SERVICE_RUN_ID: run_id },
    timeout_sec: 600,
    session: null,
    container: null,
  };
  const shell = runShell(program, 'echo first; exec sleep 500', AbortSignal.timeout(60_000), () => {
    throw new Error('no room');
  });
  await expect(shell).rejects.toThrow('no room');
  expect((await markedProcesses()).filter((each) => each.run_id === run_id)).toEqual([]);
});
