/**
 * Linux control groups, version 1 or 2: kernel limits for a whole tree of processes. Available where this process may create
 * groups below its own: as root, or with a group delegated by the machine's service manager.
 */
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from './config.ts';

export const controllers = ['memory', 'pids', 'cpu'] as const;
export type Controller = (typeof controllers)[number];

interface Parent {
  version: 1 | 2;
  /** The folder below which groups are created. */
  folder: string;
}

/** What can be limited here, and where. */
type ControlGroups = Partial<Record<Controller, Parent>>;

interface GroupLimits {
  memory_bytes: number;
  processes: number;
  /** Number of processors. */
  cpu: number;
}

/** A group, with one folder per controller. */
interface ControlGroup {
  /** The files to which a process writes its id to join. */
  joins: string[];
  bounds: Controller[];
  /** Whether the kernel has OOM-killed one of its processes. */
  ranOutOfMemory(): Promise<boolean>;
  /** Kills everything in it, then removes it. Never rejects. */
  remove(): Promise<void>;
}

type Setting = readonly [file: string, value: string, optional?: 'optional'];

const PERIOD_US = 100_000;
const quotaOf = ({ cpu }: GroupLimits) => String(Math.max(1000, Math.round(cpu * PERIOD_US)));

/** No swap beyond the memory limit, as the specification requires for containers. Settings missing from the kernel are optional. */
const settings: Record<1 | 2, Record<Controller, (limits: GroupLimits) => readonly Setting[]>> = {
  1: {
    memory: ({ memory_bytes }) => [
      ['memory.limit_in_bytes', String(memory_bytes)],
      ['memory.memsw.limit_in_bytes', String(memory_bytes), 'optional'],
    ],
    pids: ({ processes }) => [['pids.max', String(processes)]],
    cpu: (limits) => [
      ['cpu.cfs_period_us', String(PERIOD_US)],
      ['cpu.cfs_quota_us', quotaOf(limits)],
    ],
  },
  2: {
    memory: ({ memory_bytes }) => [
      ['memory.max', String(memory_bytes)],
      ['memory.swap.max', '0', 'optional'],
      ['memory.oom.group', '1', 'optional'],
    ],
    pids: ({ processes }) => [['pids.max', String(processes)]],
    cpu: (limits) => [['cpu.max', `${quotaOf(limits)} ${PERIOD_US}`]],
  },
};

/** Files that report OOM kills. */
const oomFiles = { 1: 'memory.oom_control', 2: 'memory.events' } as const;

/**
 * Probes by creating a group: a writable folder alone proves little.
 * @param proc the kernel's information about this process
 */
export async function findControlGroups(
  config: Pick<Config, 'plugin_control_groups'>,
  proc = '/proc/self',
): Promise<ControlGroups> {
  if (config.plugin_control_groups === 'off') return {};
  const own = await ownGroups(proc);
  const found: ControlGroups = {};
  for (const controller of controllers)
    for (const group of own) {
      if (found[controller] !== undefined || !group.controllers.includes(controller)) continue;
      const folder = await parentOf(group, controller);
      if (folder !== undefined) found[controller] = { version: group.version, folder };
    }
  return found;
}

interface OwnGroup {
  version: 1 | 2;
  folder: string;
  controllers: readonly string[];
}

/** The groups that this process is in, one per visible mounted hierarchy. */
async function ownGroups(proc: string): Promise<OwnGroup[]> {
  const [mounts, membership] = await Promise.all(
    ['mountinfo', 'cgroup'].map(async (name) => readFile(path.join(proc, name), 'utf8').catch(() => '')),
  );
  const paths = membership!.split('\n').map((line) => {
    // The path may have colons of its own.
    const [id, list, ...own] = line.split(':');
    return [id, list, own.join(':')] as const;
  });
  const groups: OwnGroup[] = [];
  for (const line of mounts!.split('\n')) {
    const [, , , root = '', point = '', ...rest] = line.split(' ');
    const [type = '', , options = ''] = rest.slice(rest.indexOf('-') + 1);
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const version = type === 'cgroup2' ? 2 : 1;
    const names = options.split(',');
    const [, , own] =
      paths.find(([id, list = '']) =>
        version === 2 ? id === '0' : list !== '' && list.split(',').some((name) => names.includes(name)),
      ) ?? [];
    if (own === undefined || !isBelow(root, own)) continue;
    const folder = path.join(point, path.relative(root, own));
    const controllers_here = version === 1 ? names : await words(path.join(folder, 'cgroup.controllers'));
    groups.push({ version, folder, controllers: controllers_here });
  }
  return groups;
}

const isBelow = (root: string, file: string): boolean => !path.relative(root, file).startsWith('..');

const words = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8').catch(() => '')).trim().split(/\s+/);

/**
 * In version 2 a group with processes can't limit groups below it. If this process is in a subgroup of its systemd unit
 * (DelegateSubgroup=), new groups become its siblings; the parents of other groups belong to someone else.
 */
async function parentOf({ version, folder }: OwnGroup, controller: Controller): Promise<string | undefined> {
  const unit = path.dirname(folder);
  const candidates = version === 2 && /\.(service|scope)$/.test(unit) ? [folder, unit] : [folder];
  for (const candidate of candidates) if (await bounds(version, candidate, controller)) return candidate;
  return undefined;
}

async function bounds(version: 1 | 2, folder: string, controller: Controller): Promise<boolean> {
  const trial = path.join(folder, `${GROUP}trial-${process.pid}-${controller}`);
  try {
    if (version === 2) {
      const file = path.join(folder, 'cgroup.subtree_control');
      if (!(await words(file)).includes(controller)) await writeFile(file, `+${controller}`);
    }
    // A killed process of the same id may have left it.
    await mkdir(trial, { recursive: true });
    return true;
  } catch {
    return false;
  } finally {
    await rmdir(trial).catch(() => undefined);
  }
}

/** Prefix of all our groups: other groups on this machine are left alone. */
const GROUP = 'service-program-';

/**
 * Creates an empty group with its limits.
 * @param name unique to its owner
 * @throws if the kernel refuses
 */
export async function makeControlGroup(
  groups: ControlGroups,
  name: string,
  limits: GroupLimits,
): Promise<ControlGroup> {
  const group = groupOf(groups, name);
  try {
    for (const [controller, { version, folder }] of entriesOf(groups)) {
      const own = path.join(folder, GROUP + name);
      await mkdir(own, { recursive: true });
      for (const [file, value, optional] of settings[version][controller](limits)) {
        const written = writeFile(path.join(own, file), value);
        await (optional === undefined ? written : written.catch(() => undefined));
      }
    }
  } catch (error) {
    await group.remove();
    throw error;
  }
  return group;
}

const entriesOf = (groups: ControlGroups) => Object.entries(groups) as [Controller, Parent][];

function groupOf(groups: ControlGroups, name: string): ControlGroup {
  const folders = [...new Set(entriesOf(groups).map(([, { folder }]) => path.join(folder, GROUP + name)))];
  const { memory } = groups;
  return {
    joins: folders.map((folder) => path.join(folder, 'cgroup.procs')),
    bounds: entriesOf(groups).map(([controller]) => controller),
    async ranOutOfMemory() {
      if (memory === undefined) return false;
      const file = path.join(memory.folder, GROUP + name, oomFiles[memory.version]);
      return /^oom_kill [1-9]/m.test(await readFile(file, 'utf8').catch(() => ''));
    },
    async remove() {
      await Promise.all(folders.map(async (folder) => removeFolder(folder)));
    },
  };
}

/** Names of existing groups: groups of killed processes stay behind. */
export async function listControlGroups(groups: ControlGroups): Promise<string[]> {
  const folders = [...new Set(entriesOf(groups).map(([, { folder }]) => folder))];
  const found = await Promise.all(folders.map(async (folder) => readdir(folder).catch(() => [])));
  const names = found.flat().filter((name) => name.startsWith(GROUP));
  return [...new Set(names)].map((name) => name.slice(GROUP.length));
}

/** A new group is empty as well until its first process joins. */
const LEAST_AGE_MS = 10 * 60_000;

/** Removes groups that have been empty for a while, whoever created them: their creators were killed. Never rejects. */
export async function removeEmptyControlGroups(groups: ControlGroups): Promise<void> {
  const parents = [...new Set(entriesOf(groups).map(([, { folder }]) => folder))];
  for (const parent of parents)
    for (const name of await readdir(parent).catch(() => [])) {
      if (!name.startsWith(GROUP)) continue;
      const folder = path.join(parent, name);
      const made = await stat(folder).catch(() => undefined);
      // The kernel refuses while there are processes in it.
      if (made !== undefined && Date.now() - made.mtimeMs > LEAST_AGE_MS)
        await rmdir(folder).catch(() => undefined);
    }
}

/** Kills whatever is left in groups of that name and removes them. */
export async function removeControlGroup(groups: ControlGroups, name: string): Promise<void> {
  await groupOf(groups, name).remove();
}

const REMOVE_TRIES = 40;
const REMOVE_EVERY_MS = 25;

/** Killed processes take a moment to disappear. */
async function removeFolder(folder: string): Promise<void> {
  for (let left = REMOVE_TRIES; left > 0; left -= 1) {
    for (const pid of await words(path.join(folder, 'cgroup.procs')))
      try {
        // Not 0, which stands for processes that this namespace can't see.
        if (Number(pid) > 0) process.kill(Number(pid), 'SIGKILL');
      } catch {
        // Already gone.
      }
    const error = await rmdir(folder).catch((err: unknown) => err);
    if (error === undefined || (error as NodeJS.ErrnoException).code === 'ENOENT') return;
    await delay(REMOVE_EVERY_MS);
  }
}

/** Command prefix that joins the group before the first instruction of the command; if joining fails, it does not start. */
export function joining({ joins }: Pick<ControlGroup, 'joins'>, command: readonly string[]): string[] {
  const script = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 126; shift; done; shift; exec "$@"';
  return ['/bin/sh', '-c', script, 'sh', ...joins, '--', ...command];
}
