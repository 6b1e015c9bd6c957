import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { AdapterError } from '../adapter-error.ts';
import { failureOfEnd } from '../cli/failures.ts';
import type { ProgramCall } from '../process/run-program.ts';
import type { ContainerSpec, ProgramSpec } from '../task.ts';
import { withEnvironmentFile } from './environment-file.ts';

interface ContainerRun {
  program: ProgramSpec;
  container: ContainerSpec;
  /** Program and arguments within; empty: the image's own. */
  command: readonly string[];
  run_id: string;
  stdin: string;
  /** Of the agent's own, beside the program's. */
  env?: Record<string, string>;
}

const HOME = '/home/agent';
const WORKSPACE = '/workspace';
/** Names the run's container to the engine, for the sweep of what a dead scheduler left. */
const RUN_LABEL = 'service.run_id';
const REMOVE_TIMEOUT_MS = 10_000;
const STDERR_KEPT = 8192;

/**
 * The engine's call for one run: nothing of the machine but the agent's home, limits, no rights, and no network unless the
 * operator names one. The working folder lies in the home: a mount of its own would follow links that an earlier run has
 * laid there. The container is made first and started when the home has been looked at again: the engine knows it by its
 * path. Names of the service's variables stand among the arguments, their values only in the environment.
 */
export function containerCall(run: ContainerRun): ProgramCall {
  const { program, container, run_id } = run;
  const { PATH: _path, HOME: _home, ...own } = program.env;
  const name = containerName(run_id);
  const env = { ...container.cli_env, ...own };
  const options = creation(run, Object.keys(own));
  return {
    command: [...container.cli, 'start', '--attach', '--interactive', name],
    prepare: async (signal) => {
      await withEnvironmentFile(run_id, run.env ?? {}, async (file) => {
        const command = [
          ...container.cli,
          'create',
          ...options,
          `--env-file=${file}`,
          container.image,
          ...run.command,
        ];
        await runEngine(command, env, signal);
      });
      await program.checkHome?.();
    },
    cwd: '/',
    env,
    stdin: run.stdin,
    run_id,
    cleanUp: async () => removeContainer(container, name),
  };
}

function creation({ program, container, run_id }: ContainerRun, variables: readonly string[]): string[] {
  return [
    '--rm',
    '--interactive',
    `--name=${containerName(run_id)}`,
    `--label=${RUN_LABEL}=${run_id}`,
    ...limits(container),
    `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
    `--volume=${mountable(program.home)}:${HOME}`,
    ...workspaceMounts(program),
    `--env=HOME=${HOME}`,
    ...variables.map((variable) => `--env=${variable}`),
  ];
}

/** Its parent is nobody's but the service's, so that no link can lie in its place. */
function workspaceMounts({ workspace, home, cwd, read_only }: ProgramSpec): string[] {
  if (workspace === undefined) return [`--workdir=${join(HOME, relative(home, cwd))}`];
  return [
    `--volume=${mountable(workspace.path)}:${WORKSPACE}${read_only === true ? ':ro' : ''}`,
    ...workspace.readable.map((path) => `--volume=${mountable(path)}:${path}:ro`),
    `--workdir=${WORKSPACE}`,
  ];
}

/** A colon would end the path and begin another one. */
function mountable(folder: string): string {
  if (folder.includes(':'))
    throw new AdapterError('config', 'the path of the home or workspace has a colon: it cannot be mounted');
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

/** What the label says of each container that has it, by default its run's id; empty where there is no engine. */
export async function labelledContainers(
  { cli, cli_env: env }: Pick<ContainerSpec, 'cli' | 'cli_env'>,
  label = RUN_LABEL,
): Promise<string[]> {
  const format = `{{index .Labels "${label}"}}`;
  const said = await engine(cli, ['ps', '--all', `--filter=label=${label}`, `--format=${format}`], env);
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

/** Throws AdapterError with what the engine says, or the signal's reason. */
async function runEngine(
  [program = '', ...args]: readonly string[],
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(program, args, { env, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], signal });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_KEPT);
  });
  try {
    const [code, by] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    if (code !== 0) throw failureOfEnd('the container engine', { code, signal: by, stderr });
  } catch (err) {
    signal.throwIfAborted();
    if (err instanceof AdapterError) throw err;
    const code = err instanceof Error && 'code' in err ? String(err.code) : 'unknown error';
    throw new AdapterError('config', `the program ${program} could not be started: ${code}`);
  }
}
