import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { AdapterError } from '../adapter-error.ts';
import type { ProgramCall } from '../process/run-program.ts';
import type { ContainerSpec, ProgramSpec } from '../task.ts';

export interface ContainerRun {
  program: ProgramSpec;
  container: ContainerSpec;
  /** Program and arguments within; empty: the image's own. */
  command: readonly string[];
  run_id: string;
  stdin: string;
  /** A file of `NAME=value` lines, from `environmentFile`. */
  env_file?: string;
}

const HOME = '/home/agent';
/** Names the run's container to the engine, for the sweep of what a dead scheduler left. */
export const RUN_LABEL = 'service.run_id';
const REMOVE_TIMEOUT_MS = 10_000;

/**
 * The engine's call for one run: nothing of the machine but the agent's home, limits, no rights, and no network unless the
 * operator names one. The working folder lies in the home: a mount of its own would follow links that an earlier run has
 * laid there. Names of the service's variables stand among the arguments, their
 * values only in the environment.
 */
export function containerCall(run: ContainerRun): ProgramCall {
  const { program, container, command, run_id } = run;
  const { PATH: _path, HOME: _home, ...own } = program.env;
  const name = containerName(run_id);
  return {
    command: [
      ...container.cli,
      'run',
      '--rm',
      '--interactive',
      `--name=${name}`,
      `--label=${RUN_LABEL}=${run_id}`,
      ...limits(container),
      `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
      `--volume=${mountable(program.home)}:${HOME}`,
      `--workdir=${join(HOME, relative(program.home, program.cwd))}`,
      `--env=HOME=${HOME}`,
      ...Object.keys(own).map((variable) => `--env=${variable}`),
      ...(run.env_file === undefined ? [] : [`--env-file=${run.env_file}`]),
      container.image,
      ...command,
    ],
    cwd: program.cwd,
    env: { ...container.cli_env, ...own },
    stdin: run.stdin,
    run_id,
    cleanUp: async () => removeContainer(container, name),
  };
}

/** A colon would end the path and begin another one. */
function mountable(folder: string): string {
  if (folder.includes(':'))
    throw new AdapterError('config', 'the path of the home has a colon: it cannot be mounted');
  return folder;
}

function limits({ memory, cpus, pids, network }: ContainerSpec): string[] {
  return [
    `--memory=${memory}`,
    `--memory-swap=${memory}`,
    `--cpus=${cpus}`,
    `--pids-limit=${pids}`,
    `--network=${network}`,
    '--read-only',
    '--tmpfs=/tmp:rw,mode=1777',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
  ];
}

export function containerName(run_id: string): string {
  return `service-run-${run_id}`;
}

/** Kills it where it still is; that it is gone already is the common case. Never rejects. */
export async function removeContainer(
  { cli, cli_env: env }: Pick<ContainerSpec, 'cli' | 'cli_env'>,
  name: string,
): Promise<void> {
  await engine(cli, ['kill', name], env);
  await engine(cli, ['rm', '--force', name], env);
}

/** Run ids of the containers that the engine knows; empty where there is no engine. */
export async function labelledContainers({
  cli,
  cli_env: env,
}: Pick<ContainerSpec, 'cli' | 'cli_env'>): Promise<string[]> {
  const format = `{{index .Labels "${RUN_LABEL}"}}`;
  const said = await engine(cli, ['ps', '--all', `--filter=label=${RUN_LABEL}`, `--format=${format}`], env);
  return said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** The engine's answer; empty where it fails or does not answer in time. */
async function engine(cli: readonly string[], args: string[], env: Record<string, string>): Promise<string> {
  const [program = '', ...own] = cli;
  try {
    const child = spawn(program, [...own, ...args], {
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: REMOVE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? said : '';
  } catch {
    return '';
  }
}

/** Values that are the agent's own and may be secrets: they never stand among arguments. `remove` when the run ends. */
export async function environmentFile(
  env: Record<string, string>,
): Promise<{ path: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'service-env-'));
  const path = join(folder, 'env');
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(path, lines.join(''), { mode: 0o600 });
  return { path, remove: async () => rm(folder, { recursive: true, force: true }) };
}
