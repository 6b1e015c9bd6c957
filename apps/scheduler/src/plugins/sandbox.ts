import { execFile } from 'node:child_process';
import { release } from 'node:os';
import { promisify } from 'node:util';
import { engineEnvironment, removeContainer, visibleFiles } from '@acp/adapters';
import type { PluginSandbox } from '@acp/contract';
import {
  BUBBLEWRAP_MEND,
  bubblewrapProc,
  bubblewrapWalls,
  type Config,
  findBubblewrap,
  findProgram,
  pickEnvironment,
  repositoryRoot,
} from '@acp/kernel';

const run = promisify(execFile);
const ENGINE_TRIAL_MS = 10_000;
const TEMP_BYTES = 64 * 1024 * 1024;
/** The workspace as a shut-in plugin sees it. */
const WORKSPACE = '/workspace';

export type SandboxConfig = Pick<
  Config,
  | 'container_cli'
  | 'home'
  | 'plugin_cpu_limit'
  | 'plugin_memory_limit'
  | 'plugin_pids_limit'
  | 'plugin_sandbox'
  | 'plugin_sandbox_image'
  | 'plugin_sandbox_security_opts'
>;

/** The walls that this machine offers, of those that the operator admits. */
export type Walls =
  { kind: 'container' } | { kind: 'bubblewrap'; file: string } | { kind: 'bare'; why: string };

/** @throws Error that says what to mend, where the operator wants walls that can't be had */
export async function findWalls(config: SandboxConfig): Promise<Walls> {
  const wanted = config.plugin_sandbox;
  if (wanted === 'disabled') return { kind: 'bare', why: 'SERVICE_PLUGIN_SANDBOX=disabled' };
  const engine = wanted === 'bubblewrap' ? 'not asked for' : await engineTrouble(config);
  if (engine === null) return { kind: 'container' };
  if (wanted === 'container') throw new Error(`plugins can’t be shut in: ${engine}`);
  const found = await findBubblewrap();
  if ('file' in found) return { kind: 'bubblewrap', file: found.file };
  if (wanted !== 'auto')
    throw new Error(`plugins can’t be shut in: ${engine}; ${found.reason}; ${BUBBLEWRAP_MEND}`);
  return { kind: 'bare', why: `${engine}; ${found.reason}` };
}

/** Null where the engine answers; asked, since its command line is there without it. */
async function engineTrouble({
  container_cli: [program = '', ...args],
}: SandboxConfig): Promise<string | null> {
  if (findProgram(program) === undefined) return `${program} is not installed`;
  try {
    await run(program, [...args, 'info'], { timeout: ENGINE_TRIAL_MS, env: engineEnvironment() });
    return null;
  } catch {
    return `${program} does not answer`;
  }
}

export interface PluginPlace {
  plugin_id: string;
  company_id: string;
  /** The allowed copy. */
  binary: string;
  workspace: string;
}

/** How a process is started, and ended for sure. */
export interface SandboxedCommand {
  kind: PluginSandbox;
  command: string[];
  env: Record<string, string>;
  cwd: string;
  /** The workspace as the plugin sees it. */
  workspace: string;
  /** What the process's group does not end. Never rejects. */
  cleanUp(): Promise<void>;
}

export function sandboxed(config: SandboxConfig, walls: Walls, place: PluginPlace): SandboxedCommand {
  switch (walls.kind) {
    case 'container':
      return inContainer(config, place);
    case 'bubblewrap':
      return inBubblewrap(config, walls.file, place);
    case 'bare':
      return {
        kind: 'bare',
        command: [place.binary],
        env: environment(place, place.workspace),
        cwd: place.workspace,
        workspace: place.workspace,
        cleanUp: async () => Promise.resolve(),
      };
  }
}

/** The whole of it: none of the service's own variables (specification, Sandbox). */
function environment({ plugin_id, company_id }: PluginPlace, workspace: string): Record<string, string> {
  return {
    ...pickEnvironment(['PATH']),
    LANG: 'C.UTF-8',
    HOME: workspace,
    SERVICE_PLUGIN_ID: plugin_id,
    SERVICE_COMPANY_ID: company_id,
    SERVICE_PLUGIN_WORKSPACE: workspace,
  };
}

export const pluginContainer = (plugin_id: string): string => `service-plugin-${plugin_id}`;

function inContainer(config: SandboxConfig, place: PluginPlace): SandboxedCommand {
  const { PATH: _path, HOME: _home, ...own } = environment(place, WORKSPACE);
  const name = pluginContainer(place.plugin_id);
  const memory = config.plugin_memory_limit;
  const inside = '/plugin/binary';
  const engine = { cli: config.container_cli, cli_env: engineEnvironment() };
  return {
    kind: 'container',
    command: [
      ...config.container_cli,
      'run',
      '--rm',
      '--interactive',
      '--init',
      `--name=${name}`,
      `--label=service.plugin_id=${place.plugin_id}`,
      '--read-only',
      `--tmpfs=/tmp:rw,nosuid,nodev,mode=1777,size=${TEMP_BYTES}`,
      '--network=none',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      ...config.plugin_sandbox_security_opts.map((option) => `--security-opt=${option}`),
      `--memory=${memory}`,
      `--memory-swap=${memory}`,
      `--cpus=${config.plugin_cpu_limit}`,
      `--pids-limit=${config.plugin_pids_limit}`,
      `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
      `--mount=type=bind,source=${place.binary},target=${inside},readonly`,
      `--mount=type=bind,source=${place.workspace},target=${WORKSPACE}`,
      `--workdir=${WORKSPACE}`,
      `--env=HOME=${WORKSPACE}`,
      ...Object.entries(own).map(([variable, value]) => `--env=${variable}=${value}`),
      `--entrypoint=${inside}`,
      config.plugin_sandbox_image,
    ],
    env: engine.cli_env,
    cwd: '/',
    workspace: WORKSPACE,
    cleanUp: async () => removeContainer(engine, name),
  };
}

function inBubblewrap(config: SandboxConfig, file: string, place: PluginPlace): SandboxedCommand {
  const hidden = [config.home, repositoryRoot];
  const { mounts, command, search } = visibleFiles([place.binary], undefined, { readable: [], hidden });
  return {
    kind: 'bubblewrap',
    command: [
      file,
      ...bubblewrapWalls,
      '--hostname',
      'plugin',
      ...bubblewrapProc(),
      '--dev',
      '/dev',
      '--size',
      String(TEMP_BYTES),
      '--tmpfs',
      '/tmp',
      ...mounts,
      '--bind',
      place.workspace,
      WORKSPACE,
      '--remount-ro',
      '/dev',
      '--remount-ro',
      '/',
      '--chdir',
      WORKSPACE,
      '--',
      ...limits(config),
      ...command,
    ],
    env: { ...environment(place, WORKSPACE), PATH: search.join(':') },
    cwd: '/',
    workspace: WORKSPACE,
    cleanUp: async () => Promise.resolve(),
  };
}

/**
 * Processes are counted per user namespace since Linux 5.14; before, the limit would count those of the whole user. Memory
 * is watched from outside, for no limit of a process knows of the others.
 */
function limits({ plugin_pids_limit }: SandboxConfig): string[] {
  const prlimit = findProgram('prlimit');
  if (prlimit === undefined) return [];
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const counts = major > 5 || (major === 5 && minor >= 14);
  return [prlimit, '--core=0', '--nofile=1024', ...(counts ? [`--nproc=${plugin_pids_limit}`] : []), '--'];
}
