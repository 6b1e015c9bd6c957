import { join, relative } from 'node:path';
import { AdapterError } from '../adapter-error.ts';
import type { ProgramCall } from '../process/run-program.ts';
import type { ContainerSpec, ProgramSpec } from '../task.ts';
import { type Engine, engine, removeContainer, runEngine } from './engine.ts';
import { withEnvironmentFile } from './environment-file.ts';
import { openWayOut, type WayOut, wayOutName } from './way-out.ts';

interface ContainerRun {
  program: ProgramSpec;
  container: ContainerSpec;
  /** Program and arguments inside the container; empty: the image's own. */
  command: readonly string[];
  run_id: string;
  stdin: string;
  /** The agent's own variables, in addition to the program's. */
  env?: Record<string, string>;
}

const HOME = '/home/agent';
const WORKSPACE = '/workspace';
/** Labels the run's container, so that a sweep finds what a dead scheduler left behind. */
const RUN_LABEL = 'service.run_id';

/**
 * The engine call for one run: the container sees nothing of the machine but the agent's home, has limits and no privileges,
 * and no network unless the operator names one. The working folder is inside the home: a separate mount would follow links
 * planted there by an earlier run. The container is created first and started after the home has been checked again, since the
 * engine mounts it by path. Variables are passed by name as arguments, their values only in the environment.
 */
export function containerCall(run: ContainerRun): ProgramCall {
  const { program, container, run_id } = run;
  const { PATH: _path, HOME: _home, ...own } = program.env;
  const name = containerName(run_id);
  const env = { ...container.cli_env, ...own };
  const options = creation(run, Object.keys(own));
  let way: WayOut | undefined;
  return {
    command: [...container.cli, 'start', '--attach', '--interactive', name],
    prepare: async (signal) => {
      const { reach, loopback = null } = container;
      if (reach !== undefined)
        way = await openWayOut({ container, reach, loopback, run_id, label: RUN_LABEL }, signal);
      await withEnvironmentFile(run_id, run.env ?? {}, async (file) => {
        const args = [
          'create',
          ...options,
          `--network=${way?.network ?? container.network}`,
          ...Object.keys(way?.env ?? {}).map((variable) => `--env=${variable}`),
          `--env-file=${file}`,
          container.image,
          ...run.command,
        ];
        await runEngine(container, args, { ...env, ...way?.env }, signal);
      });
      await program.checkHome?.();
    },
    cwd: '/',
    env,
    stdin: run.stdin,
    run_id,
    ...(program.watch && { watch: program.watch }),
    cleanUp: async () => {
      await removeContainer(container, name);
      await way?.close();
    },
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

/** Its parent belongs to the service alone, so no link can be put in its place. */
function workspaceMounts({ workspace, home, cwd, read_only }: ProgramSpec): string[] {
  if (workspace === undefined) return [`--workdir=${join(HOME, relative(home, cwd))}`];
  return [
    `--volume=${mountable(workspace.path)}:${WORKSPACE}${read_only === true ? ':ro' : ''}`,
    ...workspace.readable.map((path) => `--volume=${mountable(path)}:${path}:ro`),
    `--workdir=${WORKSPACE}`,
  ];
}

/** A colon would end the path and start another one. */
function mountable(folder: string): string {
  if (folder.includes(':'))
    throw new AdapterError('config', 'the path of the home or workspace has a colon: it cannot be mounted');
  return folder;
}

function limits({ memory, cpus, pids }: ContainerSpec): string[] {
  return [
    `--memory=${memory}`,
    `--memory-swap=${memory}`,
    `--cpus=${cpus}`,
    `--pids-limit=${pids}`,
    '--read-only',
    '--tmpfs=/tmp:rw,mode=1777',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
  ];
}

function containerName(run_id: string): string {
  return `service-run-${run_id}`;
}

/** Removes a run's containers: its own, and the one that provides its way out. Never rejects. */
export async function removeRunContainers(container: Engine, run_id: string): Promise<void> {
  await removeContainer(container, containerName(run_id));
  await removeContainer(container, wayOutName(run_id));
}

/** Label values of all containers with that label, by default run ids; empty if there is no engine. */
export async function labelledContainers(container: Engine, label = RUN_LABEL): Promise<string[]> {
  const list = ['ps', '--all', `--filter=label=${label}`, '--format={{json .Labels}}'];
  const said = await engine(container, list);
  return said
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => valueOf(JSON.parse(line), label))
    .filter((value) => value !== undefined);
}

/** @param labels podman's, by name, or docker's: a text such as `a=1,b=2` */
function valueOf(labels: unknown, label: string): string | undefined {
  if (typeof labels !== 'string') return (labels as Record<string, string>)[label];
  const found = labels.split(',').find((each) => each.startsWith(`${label}=`));
  return found?.slice(label.length + 1);
}
