/** A hostile program in the sandbox for local CLIs: what it can do, and the escapes it tries. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Config, findBubblewrap, findControlGroups, listControlGroups, newId } from '@acp/kernel';
import { hostileCommand, type HostileMachine, startHostileMachine } from '@acp/testkit';
import { markedProcesses } from '../process/marked.ts';
import { runProgram } from '../process/run-program.ts';
import type { ProgramLimits, ProgramSpec, SandboxSpec } from '../task.ts';
import { Reach } from './reach.ts';
import { sandboxCall } from './sandbox-call.ts';

const bubblewrap = await findBubblewrap();
const here: typeof describe.skip = 'file' in bubblewrap ? describe : describe.skip;
/** Without `memory` where the kernel lets this user limit nobody's. */
const groups = await findControlGroups({ plugin_control_groups: 'auto' });
if ('reason' in bubblewrap) process.stderr.write(`the sandbox is not tested: ${bubblewrap.reason}\n`);

let folder: string;
let machine: HostileMachine;

interface Trial {
  way: string;
  came_to: string;
}

const ample: ProgramLimits = { memory: '2g', cpus: 2, pids: 512 };

async function attack(
  changes: Partial<ProgramSpec> = {},
  limits = ample,
  control_groups: Config['plugin_control_groups'] = 'auto',
) {
  const { about, hidden } = machine;
  const run_id = newId();
  const places = [{ host: 'localhost', port: about.service_port }];
  const reach = new Reach({ places });
  const sandbox: SandboxSpec = {
    bubblewrap: 'file' in bubblewrap ? bubblewrap.file : '',
    readable: [],
    hidden,
    reach,
    loopback: places[0]!,
    limits,
    control_groups,
  };
  const program: ProgramSpec = {
    command: hostileCommand(),
    home: about.home,
    cwd: path.join(about.home, 'work'),
    env: { PATH: process.env.PATH!, HOME: about.home, SERVICE_RUN_ID: run_id },
    timeout_sec: 60,
    session: null,
    container: null,
    ...changes,
  };
  const stdin = JSON.stringify(about);
  const { command, cwd, env } = program;
  const call = sandboxCall({ command, cwd, env, stdin, run_id }, program, sandbox);
  const trials: Trial[] = [];
  const lines = runProgram(call, AbortSignal.timeout(60_000));
  for (let next = await lines.next(); ; next = await lines.next()) {
    if (next.done === true) return { about, run_id, trials, end: next.value, refused: reach.takeRefused() };
    if (next.value?.startsWith('{')) trials.push(JSON.parse(next.value) as Trial);
  }
}

here('a hostile program in the sandbox', () => {
  let seen: Awaited<ReturnType<typeof attack>>;
  beforeAll(async () => {
    folder = await mkdtemp('/var/tmp/sandbox-test-');
    machine = await startHostileMachine(folder);
    seen = await attack();
  });
  afterAll(async () => {
    machine.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('has what a program needs: its home, a folder for temporary files, the service', () => {
    expect(seen.end).toMatchObject({ code: 0, stderr: '' });
    const can = seen.trials.filter(({ way }) => way.startsWith('may '));
    expect(can).toEqual([
      { way: 'may write its home', came_to: 'done' },
      { way: 'may write temporary files', came_to: 'done' },
      { way: 'may share memory', came_to: 'done' },
      { way: 'may ask the service by its proxy, without a forged address', came_to: 'service /api/x -' },
      { way: 'may ask the service on its own loopback', came_to: 'service /api/y 9.9.9.9' },
      { way: 'may tunnel to the service', came_to: '200' },
    ]);
  });

  it('finds none of the ways out', () => {
    const out = seen.trials.filter(({ way }) => !way.startsWith('may '));
    expect(out.length).toBeGreaterThanOrEqual(25);
    expect(out.filter(({ came_to }) => came_to !== 'shut')).toEqual([]);
  });

  it('leaves a word of where it wanted to go, and nothing of itself', async () => {
    expect(seen.refused.map(({ host, port }) => `${host}:${port}`)).toEqual(
      expect.arrayContaining(['169.254.169.254:80', `localhost:${seen.about.database_port}`]),
    );
    expect(machine.isUnharmed()).toBe(true);
    expect((await markedProcesses()).filter(({ run_id }) => run_id === seen.run_id)).toEqual([]);
    expect((await readdir(tmpdir())).filter((name) => name.includes(seen.run_id))).toEqual([]);
    expect(await readFile(seen.about.secret, 'utf8')).toBe('secret');
  });

  it('does not begin in a home that was exchanged for another folder', async () => {
    const { trials, end } = await attack({ home_identity: '1:2' });
    expect(trials).toEqual([]);
    expect(end).toMatchObject({ code: 97, stderr: expect.stringContaining('exchanged') });
  });

  it.each(['auto', 'off'] as const)(
    'is ended when it takes more memory than it may, and says so (control groups: %s)',
    async (control_groups) => {
      const hoard = 'const kept = []; setInterval(() => kept.push(Buffer.alloc(2e7, 1)), 20)';
      const command = [process.execPath, '-e', hoard];
      const { end } = await attack({ command }, { ...ample, memory: '300m' }, control_groups);
      expect(end.too_much).toBe('it takes more memory than 300m');
    },
  );

  // By the kernel where it may, else by the watch, which sees nothing of it: then the folder is full at its own limit.
  it('is ended for what it keeps in no process’s memory, too, and leaves no control group', async () => {
    const hoard =
      "const { appendFileSync } = require('fs'); for (;;) appendFileSync('/tmp/kept', Buffer.alloc(2e7, 1))";
    const { end, run_id } = await attack(
      { command: [process.execPath, '-e', hoard] },
      { ...ample, memory: '300m' },
    );
    expect(end.too_much ?? end.stderr).toMatch(
      groups.memory === undefined ? /ENOSPC/ : /it takes more memory than 300m/,
    );
    expect((await listControlGroups(groups)).filter((name) => name.includes(run_id))).toEqual([]);
  });

  it('gets no more processes than it may have', async () => {
    const spread = 'for n in $(seq 1 200); do sleep 60 & done; wait';
    const { end } = await attack({ command: ['/bin/sh', '-c', spread] }, { ...ample, pids: 60 });
    // Refused by the kernel, or ended by us where the kernel doesn't count per sandbox.
    expect(end.too_much ?? end.stderr).toMatch(/more processes than 60|[Cc]annot fork|fork: /);
  });
});
