import { labelledContainers, removeContainer, visibleFiles } from '@acp/adapters';
import type { PluginSandbox } from '@acp/contract';
import {
  bubblewrapGround,
  bubblewrapLimits,
  type Config,
  type Controller,
  controllers,
  engineEnvironment,
  findProgram,
  isUuid,
  pickEnvironment,
  type PluginWalls,
  type ProgramBound,
  programBounds,
  repositoryRoot,
} from '@acp/kernel';

const TEMP_BYTES = 64 * 1024 * 1024;
/** Label of a plugin's container for the engine, together with its owner's fence. */
const PLUGIN_LABEL = 'service.plugin';
/** The workspace as a sandboxed plugin sees it. */
const WORKSPACE = '/workspace';

export type SandboxConfig = Pick<
  Config,
  | 'container_cli'
  | 'home'
  | 'plugin_control_groups'
  | 'plugin_cpu_limit'
  | 'plugin_memory_limit'
  | 'plugin_pids_limit'
  | 'plugin_sandbox'
  | 'plugin_sandbox_image'
  | 'plugin_sandbox_security_opts'
  | 'plugin_workspace_limit'
>;

/** A company's program, run by one scheduler. */
export interface ProgramPlace {
  /** Id of the plugin or server whose program it is. */
  id: string;
  fence: number;
  workspace: string;
  /** A command on this machine; in a container, one of the image, unless it is `binary`. */
  command: readonly string[];
  /** A single file, mounted into a container as its command. */
  binary?: string;
  /** Files that it reads besides those named by the command. */
  readable?: readonly string[];
  /** Replaces the image of plugins. */
  image?: string | null;
  /** Additional environment variables. Values may be secrets: they appear in no command line. */
  variables: (workspace: string) => Record<string, string>;
}

/** How a process is started and reliably ended. */
export interface SandboxedCommand {
  kind: PluginSandbox;
  command: string[];
  env: Record<string, string>;
  cwd: string;
  /** The workspace as the plugin sees it. */
  workspace: string;
  /** What enforces its limits. */
  bounds: ProgramBound[];
  /** The limits that need no watch. */
  grouped: readonly Controller[];
  /** Message for people, if the kernel has killed it. */
  whyEnded(): Promise<string | undefined>;
  /** Removes what killing the process group does not. Never rejects. */
  cleanUp(): Promise<void>;
}

export function sandboxed(config: SandboxConfig, walls: PluginWalls, place: ProgramPlace): SandboxedCommand {
  return {
    ...walled(config, walls, place),
    bounds: programBounds(config, walls.kind, []),
    grouped: walls.kind === 'container' ? controllers : [],
    whyEnded: async () => Promise.resolve(undefined),
  };
}

type Walled = Omit<SandboxedCommand, 'bounds' | 'grouped' | 'whyEnded'>;

function walled(config: SandboxConfig, walls: PluginWalls, place: ProgramPlace): Walled {
  switch (walls.kind) {
    case 'container':
      return inContainer(config, place);
    case 'bubblewrap':
      return inBubblewrap(config, walls.file, place);
    case 'bare':
      return {
        kind: 'bare',
        command: [...endsWithParent(), ...place.command],
        env: environment(place, place.workspace),
        cwd: place.workspace,
        workspace: place.workspace,
        cleanUp: async () => Promise.resolve(),
      };
  }
}

/**
 * Has the kernel kill it when its scheduler dies, for whatever reason: a program that ignores the end of its input would
 * keep running. The kernel tells of deaths to come only, so a shell first looks whether the scheduler is still its parent.
 * The other sandboxes take care of that themselves.
 */
function endsWithParent(): string[] {
  const setpriv = findProgram('setpriv');
  if (setpriv === undefined) return [];
  const isStillThere = `[ "$PPID" = "$0" ] && exec "$@"`;
  return [setpriv, '--pdeathsig', 'KILL', '--', '/bin/sh', '-c', isStillThere, `${process.pid}`];
}

/** The entire environment: none of the service's own variables (specification, Sandbox). */
function environment({ variables }: ProgramPlace, workspace: string): Record<string, string> {
  return { ...pickEnvironment(['PATH']), LANG: 'C.UTF-8', HOME: workspace, ...variables(workspace) };
}

/** Environment variables that a plugin gets. */
export const pluginVariables =
  (plugin_id: string, company_id: string) =>
  (workspace: string): Record<string, string> => ({
    SERVICE_PLUGIN_ID: plugin_id,
    SERVICE_COMPANY_ID: company_id,
    SERVICE_PLUGIN_WORKSPACE: workspace,
  });

/** One container per lease owner: an owner that lost the plugin removes its own, not the next owner's. */
const containerOf = ({ id, fence }: Pick<ProgramPlace, 'id' | 'fence'>): string =>
  `service-plugin-${id}-${fence}`;

function inContainer(config: SandboxConfig, place: ProgramPlace): Walled {
  const { PATH: _path, HOME: _home, LANG, ...own } = environment(place, WORKSPACE);
  const name = containerOf(place);
  const memory = config.plugin_memory_limit;
  const mounted = '/plugin/binary';
  const [entry = '', ...args] = place.binary === undefined ? place.command : [mounted];
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
      `--label=${PLUGIN_LABEL}=${place.id}.${place.fence}`,
      '--read-only',
      `--tmpfs=/tmp:rw,nosuid,nodev,mode=1777,size=${TEMP_BYTES}`,
      '--network=none',
      // Without it there is a second temporary file system, /dev/shm.
      '--ipc=none',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      ...config.plugin_sandbox_security_opts.map((option) => `--security-opt=${option}`),
      `--memory=${memory}`,
      `--memory-swap=${memory}`,
      `--cpus=${config.plugin_cpu_limit}`,
      `--pids-limit=${config.plugin_pids_limit}`,
      `--ulimit=fsize=${config.plugin_workspace_limit}`,
      '--ulimit=nofile=1024:1024',
      '--ulimit=core=0',
      `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
      ...(place.binary === undefined
        ? []
        : [`--mount=type=bind,source=${place.binary},target=${mounted},readonly`]),
      `--mount=type=bind,source=${place.workspace},target=${WORKSPACE}`,
      `--workdir=${WORKSPACE}`,
      `--env=HOME=${WORKSPACE}`,
      `--env=LANG=${LANG}`,
      // Without a value: the engine's command line takes it from its own environment.
      ...Object.keys(own).map((variable) => `--env=${variable}`),
      `--entrypoint=${entry}`,
      place.image ?? config.plugin_sandbox_image,
      ...args,
    ],
    env: { ...engine.cli_env, ...own },
    cwd: '/',
    workspace: WORKSPACE,
    cleanUp: async () => removeContainer(engine, name),
  };
}

function inBubblewrap(config: SandboxConfig, file: string, place: ProgramPlace): Walled {
  const hidden = [config.home, repositoryRoot];
  const files = { readable: place.readable ?? [], hidden };
  const { mounts, command, search } = visibleFiles(place.command, undefined, files);
  return {
    kind: 'bubblewrap',
    command: [
      file,
      ...bubblewrapGround({ hostname: 'plugin', temp_bytes: TEMP_BYTES }),
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
      ...bubblewrapLimits({
        processes: config.plugin_pids_limit,
        file_bytes: config.plugin_workspace_limit,
        open_files: 1024,
      }),
      ...command,
    ],
    env: { ...environment(place, WORKSPACE), PATH: search.join(':') },
    cwd: '/',
    workspace: WORKSPACE,
    cleanUp: async () => Promise.resolve(),
  };
}

/**
 * Removes containers of plugins whose owner is gone: a killed owner leaves them running. Containers of plugins unknown to
 * the database belong to another instance.
 * @param current the fence of each of these plugins that exists
 */
export async function sweepPluginContainers(
  config: SandboxConfig,
  current: (plugin_ids: string[]) => Promise<ReadonlyMap<string, number>>,
): Promise<number> {
  const [program = ''] = config.container_cli;
  if (['bubblewrap', 'disabled'].includes(config.plugin_sandbox) || findProgram(program) === undefined)
    return 0;
  const engine = { cli: config.container_cli, cli_env: engineEnvironment() };
  const found = (await labelledContainers(engine, PLUGIN_LABEL)).map((label) => {
    const [plugin_id = '', fence] = label.split('.');
    return { plugin_id, fence: Number(fence) };
  });
  const fences = await current(found.map(({ plugin_id }) => plugin_id).filter(isUuid));
  const left = found.filter(({ plugin_id, fence }) => (fences.get(plugin_id) ?? fence) > fence);
  await Promise.all(
    left.map(async ({ plugin_id: id, fence }) => removeContainer(engine, containerOf({ id, fence }))),
  );
  return left.length;
}
