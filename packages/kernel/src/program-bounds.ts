/** The limits on a company's program (a plugin, an MCP program), and what actually enforces each of them on this machine. */
import { existsSync } from 'node:fs';
import { limitsProcesses } from './bubblewrap.ts';
import type { Config } from './config.ts';
import type { Controller } from './control-groups.ts';
import type { PluginWalls } from './plugin-walls.ts';

export const boundNames = [
  'memory',
  'processes',
  'processor',
  'network',
  'files',
  'temporary_space',
  'workspace',
] as const;
export const boundHolders = [
  'container',
  'control_group',
  'process_limit',
  'namespace',
  'watch',
  'nothing',
] as const;
type BoundName = (typeof boundNames)[number];
type BoundHolder = (typeof boundHolders)[number];

export interface ProgramBound {
  bound: BoundName;
  held_by: BoundHolder;
  /** For humans; if nothing enforces the limit, what applies instead. */
  limit: string;
}

/** For humans. */
export const boundWords: {
  bound: Record<BoundName, string>;
  held_by: Record<BoundHolder, string>;
} = {
  bound: {
    memory: 'Memory',
    processes: 'Processes',
    processor: 'Processor time',
    network: 'Network',
    files: 'Files it sees',
    temporary_space: 'Temporary space',
    workspace: 'Workspace',
  },
  held_by: {
    container: 'the container engine',
    control_group: 'a control group of the kernel',
    process_limit: 'a process limit of the kernel',
    namespace: 'a namespace of the kernel',
    watch: 'the scheduler, which looks now and then',
    nothing: 'nothing',
  },
};

/** As one line. */
export const describeBounds = (bounds: readonly ProgramBound[]): string =>
  bounds
    .map((each) => {
      const { bound, held_by } = boundWords;
      return `${bound[each.bound].toLowerCase()} ${each.limit} by ${held_by[each.held_by]}`;
    })
    .join('; ');

type Limits = Pick<
  Config,
  'plugin_cpu_limit' | 'plugin_memory_limit' | 'plugin_pids_limit' | 'plugin_workspace_limit'
>;

/** @param grouped what a control group limits, for programs outside a container */
export function programBounds(
  config: Limits,
  kind: PluginWalls['kind'],
  grouped: readonly Controller[],
): ProgramBound[] {
  const isContainer = kind === 'container';
  const isShut = kind !== 'bare';
  // The watcher reads /proc.
  const watch: BoundHolder = existsSync('/proc/self/stat') ? 'watch' : 'nothing';
  const held = (by: Controller, otherwise: BoundHolder): BoundHolder => {
    if (isContainer) return 'container';
    return grouped.includes(by) ? 'control_group' : otherwise;
  };
  const counted = kind === 'bubblewrap' && limitsProcesses() ? 'process_limit' : watch;
  const walled = isShut ? 'namespace' : 'nothing';
  return [
    { bound: 'memory', held_by: held('memory', watch), limit: config.plugin_memory_limit },
    { bound: 'processes', held_by: held('pids', counted), limit: String(config.plugin_pids_limit) },
    { bound: 'processor', held_by: held('cpu', watch), limit: String(config.plugin_cpu_limit) },
    { bound: 'network', held_by: walled, limit: isShut ? 'none' : 'all of it' },
    { bound: 'files', held_by: walled, limit: isShut ? 'its own' : 'all that the scheduler sees' },
    { bound: 'temporary_space', held_by: walled, limit: isShut ? '64 MB' : 'the disk' },
    {
      bound: 'workspace',
      held_by: 'watch',
      limit: `${Math.round(config.plugin_workspace_limit / 1_000_000)} MB`,
    },
  ];
}
