import { readdir, readFile } from 'node:fs/promises';

export interface TreeUsage {
  /** All of the tree. */
  pids: number[];
  memory_bytes: number;
  /** Processor time so far, that of descendants that have ended included. */
  cpu_sec: number;
}

const PAGE_BYTES = 4096;
/** Of the times in /proc, for programs on every architecture. */
const TICKS_A_SECOND = 100;

/**
 * What the trees below these processes take, from one look at /proc: a backstop where no control group bounds them. Empty
 * on machines without /proc.
 * @param exact_from bytes: a tree that seems to take more is looked at again, with what its processes share counted once
 */
export async function usageBelow(
  roots: readonly number[],
  exact_from: number,
): Promise<Map<number, TreeUsage>> {
  const all = await processes();
  const children = Map.groupBy(all, ({ parent }) => parent);
  return new Map(
    await Promise.all(
      roots.map(async (root) => {
        const tree = all.filter(({ pid }) => pid === root);
        // Grows while it is walked.
        for (const { pid } of tree) tree.push(...(children.get(pid) ?? []));
        let memory_bytes = sum(tree.map(({ resident_bytes }) => resident_bytes));
        if (memory_bytes > exact_from) memory_bytes = sum(await Promise.all(tree.map(proportionalBytes)));
        const pids = tree.map(({ pid }) => pid);
        return [root, { pids, memory_bytes, cpu_sec: sum(tree.map(({ cpu_sec }) => cpu_sec)) }] as const;
      }),
    ),
  );
}

interface Process {
  pid: number;
  parent: number;
  /** Shared libraries and pages of a fork included, in each process. */
  resident_bytes: number;
  /** With that of children that it has waited for. */
  cpu_sec: number;
}

async function processes(): Promise<Process[]> {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(names.map(async (name) => statOf(Number(name))));
  return found.filter((each) => each !== undefined);
}

async function statOf(pid: number): Promise<Process | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  if (text === undefined) return undefined;
  // The name in brackets may hold anything; fields are counted behind it: state, parent, …, four times (the 12th to the
  // 15th), …, resident pages (the 22nd).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const cpu_sec = sum(fields.slice(11, 15).map(Number)) / TICKS_A_SECOND;
  return { pid, parent: Number(fields[1]), resident_bytes: Number(fields[21]) * PAGE_BYTES, cpu_sec };
}

/** Its part of what it shares with others. All that is resident where the kernel does not tell. */
async function proportionalBytes({ pid, resident_bytes }: Process): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(text) ?? [];
  return kilobytes === undefined ? resident_bytes : Number(kilobytes) * 1024;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** `256m` as bytes. */
export function memoryBytes(limit: string): number {
  const [, digits = '0', unit = ''] = /^(\d+)([bkmg]?)$/.exec(limit) ?? [];
  return Number(digits) * ({ k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[unit] ?? 1);
}

/** The walls have one or two processes of their own. */
const OF_THE_WALLS = 2;

/** For people, what a tree takes too much of; undefined where it keeps to its limits. */
export function tooMuch(
  { pids, memory_bytes }: TreeUsage,
  memory: string,
  most_processes: number,
): string | undefined {
  if (memory_bytes > memoryBytes(memory)) return `it takes more memory than ${memory}`;
  if (pids.length > most_processes + OF_THE_WALLS) return `it has more processes than ${most_processes}`;
  return undefined;
}
