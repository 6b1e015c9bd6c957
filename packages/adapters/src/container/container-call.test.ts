import { describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newId } from '@acp/kernel';
import { runProgram } from '../process/run-program.ts';
import type { AdapterTask, ProgramSpec } from '../task.ts';
import { containerCall, labelledContainers } from './container-call.ts';
import { executeDocker } from './execute-docker.ts';
import { sweepRunFolders } from '../process/run-folder.ts';
import { withEnvironmentFile } from './environment-file.ts';

const container = {
  cli: ['podman', '--root=/x'],
  cli_env: { PATH: '/bin', DOCKER_HOST: 'unix:///engine' },
  image: 'agent:1',
  memory: '2g',
  cpus: 2,
  pids: 512,
  network: 'none',
};
const program: ProgramSpec = {
  command: [],
  home: '/homes/ada',
  cwd: '/homes/ada/work/1',
  env: { PATH: '/host/bin', HOME: '/homes/ada', SERVICE_RUN_ID: 'run-1', SERVICE_API_KEY: 'the-key' },
  timeout_sec: 1,
  session: null,
  container,
};

/** An engine that records its calls and the content of the environment file. */
async function standIn(after = '', start = 'cat') {
  const folder = await mkdtemp(path.join(tmpdir(), 'engine-'));
  const cli = path.join(folder, 'engine');
  const journal = path.join(folder, 'journal');
  await writeFile(
    cli,
    `#!/bin/sh
for arg; do printf '%s\\n' "$arg" >> ${journal}; done
case "$1" in
  create) for arg; do case "$arg" in --env-file=*) cat "\${arg#--env-file=}" >> ${journal} ;; esac; done; ${after} ;;
  start) ${start} ;;
  ps) ${after} ;;
esac
echo >> ${journal}
`,
  );
  await chmod(cli, 0o755);
  const calls = async () =>
    (await readFile(journal, 'utf8'))
      .trim()
      .split('\n\n')
      .map((call) => call.trim().split('\n'));
  return { cli: [cli], calls, folder };
}

const runs: string[] = [];

async function run(engine: Awaited<ReturnType<typeof standIn>>, changes: Partial<ProgramSpec> = {}) {
  const run_id = newId();
  runs.push(run_id);
  const call = containerCall({
    program: { ...program, ...changes },
    container: { ...container, cli: engine.cli, cli_env: { PATH: process.env.PATH! } },
    command: ['work', '--fast'],
    run_id,
    stdin: 'the task',
    env: { TOKEN: 'secret value', EMPTY: '' },
  });
  const lines: (string | undefined)[] = [];
  for await (const line of runProgram(call, new AbortController().signal)) lines.push(line);
  return { lines, call };
}
/** Only of this file's runs: other tests may be running on the machine. */
const leftFiles = async () =>
  (await readdir(tmpdir())).filter((name) => runs.some((id) => name.startsWith(`service-run-${id}-`)));

describe('labelled containers', () => {
  it.each([
    ['docker', '"maker=a b,service.run=one,service.runner=no"', '"service.run=two"'],
    ['podman', '{"maker":"a,b","service.run":"one"}', '{"service.run":"two"}'],
  ])('are found as %s lists them', async (_name, ...lines) => {
    const { cli } = await standIn(`printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}`);
    const engine = { cli, cli_env: { PATH: process.env.PATH! } };
    expect(await labelledContainers(engine, 'service.run')).toEqual(['one', 'two']);
  });

  it('are none without an engine', async () => {
    expect(await labelledContainers({ cli: ['/nowhere/engine'], cli_env: {} })).toEqual([]);
  });

  it('are not taken from an engine that says no end of them', async () => {
    const engine = await standIn(`while echo '"service.run=one"'; do :; done`);
    expect(await labelledContainers({ cli: engine.cli, cli_env: {} }, 'service.run')).toEqual([]);
    await rm(engine.folder, { recursive: true });
  });
});

describe('a container', () => {
  it('is made shut off but for its home, then started with its input, then removed', async () => {
    const engine = await standIn();
    const { lines, call } = await run(engine);
    expect(lines).toEqual(['the task']);
    const [create, start, kill, remove] = await engine.calls();
    expect(create).toEqual(
      expect.arrayContaining([
        'create',
        '--network=none',
        '--read-only',
        '--cap-drop=ALL',
        '--security-opt=no-new-privileges',
        '--memory=2g',
        '--memory-swap=2g',
        '--cpus=2',
        '--pids-limit=512',
        '--volume=/homes/ada:/home/agent',
        '--workdir=/home/agent/work/1',
        '--interactive',
      ]),
    );
    expect(create!.slice(create!.indexOf('agent:1'))).toEqual([
      'agent:1',
      'work',
      '--fast',
      'TOKEN=secret value',
      'EMPTY=',
    ]);
    expect(start!.slice(0, 3)).toEqual(['start', '--attach', '--interactive']);
    expect([kill![0], remove![0]]).toEqual(['kill', 'rm']);
    // Its variables are passed by name: no value appears among the arguments.
    expect(create).toContain('--env=SERVICE_API_KEY');
    expect(create).not.toContain('--env=PATH');
    expect([...create!, ...start!].join(' ')).not.toContain('the-key');
    expect(call.env).toMatchObject({ SERVICE_API_KEY: 'the-key' });
  });

  it('whose home leads elsewhere once it is made is not started, and goes', async () => {
    const engine = await standIn();
    let exchanged = false;
    const checkHome = async () => {
      // Checked once the container exists, not before.
      expect((await engine.calls())[0]![0]).toBe('create');
      exchanged = true;
      throw new Error('exchanged');
    };
    await expect(run(engine, { checkHome })).rejects.toThrow('exchanged');
    expect(exchanged).toBe(true);
    expect((await engine.calls()).map(([verb]) => verb)).toEqual(['create', 'kill', 'rm']);
  });

  it('that the engine does not make fails in the engine’s words', async () => {
    const engine = await standIn('echo no such image >&2; exit 125');
    await expect(run(engine)).rejects.toThrow('the container engine ended with exit code 125: no such image');
    expect(await leftFiles()).toEqual([]);
  });
});

describe('a run in a container', () => {
  const begin = (cli: string[]) => {
    const run_id = newId();
    const task: AdapterTask = {
      run_id,
      adapter_type: 'docker',
      provider: null,
      model: '',
      system_prompt: '',
      messages: [],
      max_output_tokens: 1,
      timeouts: { idle_sec: 60, total_sec: 60 },
      adapter_config: { image: 'agent:1' },
      program: {
        ...program,
        env: { ...program.env, SERVICE_RUN_ID: run_id },
        timeout_sec: 60,
        container: { ...container, cli, cli_env: { PATH: process.env.PATH! } },
      },
      payload: {},
    };
    return executeDocker(task, new AbortController().signal);
  };
  const line = "head -c 500000 /dev/zero | tr '\\0' x; echo";

  it('that writes too much is ended, and its container goes', async () => {
    const engine = await standIn('', `while ${line}; do :; done`);
    const events = begin(engine.cli);
    const read = async () => {
      for await (const event of events) expect(event.kind).toBe('log');
    };
    await expect(read()).rejects.toThrow('the container wrote too much');
    expect((await engine.calls()).map(([verb]) => verb)).toContain('rm');
  });

  it('that nobody follows any more is ended, and its container goes', async () => {
    const engine = await standIn('', 'echo at work; exec tail -f /dev/null');
    const events = begin(engine.cli);
    expect((await events.next()).value).toEqual({ kind: 'log', message: 'at work' });
    await events.return();
    expect((await engine.calls()).map(([verb]) => verb)).toContain('rm');
  });
});

describe('the home of a container', () => {
  it('whose path would name another mount is refused', () => {
    const odd = { ...program, home: '/homes/ada:/etc' };
    const call = () => containerCall({ program: odd, container, command: [], run_id: 'run-1', stdin: '' });
    expect(call).toThrow('colon');
  });
});

describe('the file of an agent’s own variables', () => {
  it('is for nobody else’s eyes, and gone afterwards', async () => {
    const seen = await withEnvironmentFile(newId(), { TOKEN: 'secret value', EMPTY: '' }, async (file) => {
      expect(await readFile(file, 'utf8')).toBe('TOKEN=secret value\nEMPTY=\n');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      return file;
    });
    await expect(stat(seen)).rejects.toThrow('ENOENT');
  });

  it('that a crash has left goes when its run has ended', async () => {
    const [ended, running] = [newId(), newId()];
    const left = await Promise.all(
      [ended, running].map((id) => mkdtemp(path.join(tmpdir(), `service-run-${id}-`))),
    );
    expect(await sweepRunFolders(async (ids) => Promise.resolve(ids.filter((id) => id === ended)))).toBe(1);
    await expect(stat(left[0]!)).rejects.toThrow('ENOENT');
    expect((await stat(left[1]!)).isDirectory()).toBe(true);
    await rm(left[1]!, { recursive: true });
  });
});
