import { readFile } from 'node:fs/promises';
import { ofEachProcess } from './process-files.ts';

export interface TreeUsage {
  /** All processes of the tree. */
  pids: number[];
  memory_bytes: number;
  /** CPU time so far, including finished descendants. */
  cpu_sec: number;
}

const PAGE_BYTES = 4096;
/** Clock ticks per second in /proc, on every architecture. */
const TICKS_A_SECOND = 100;

/**
 * Resource usage of the process trees below these roots, from one scan of /proc: a fallback where no control group enforces
 * limits. Empty without /proc.
 * @param exact_from bytes: a tree that seems to exceed this is measured again with shared memory counted once
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
        // Grows while being traversed.
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
  /** Counts shared libraries and copy-on-write pages in full for each process. */
  resident_bytes: number;
  /** Includes children it has waited for. */
  cpu_sec: number;
}

async function processes(): Promise<Process[]> {
  return ofEachProcess('stat', (text, pid) => {
    // The name in parentheses may contain anything; fields are counted after it: state, parent, …, four times (12th to 15th), …,
    // resident pages (22nd).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const cpu_sec = sum(fields.slice(11, 15).map(Number)) / TICKS_A_SECOND;
    return { pid, parent: Number(fields[1]), resident_bytes: Number(fields[21]) * PAGE_BYTES, cpu_sec };
  });
}

/** Its proportional share of shared memory, or all resident memory if the kernel doesn't say. */
async function proportionalBytes({ pid, resident_bytes }: Process): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(text) ?? [];
  return kilobytes === undefined ? resident_bytes : Number(kilobytes) * 1024;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Converts `256m` to bytes. */
export function memoryBytes(limit: string): number {
  const [, digits = '0', unit = ''] = /^(\d+)([bkmg]?)$/.exec(limit) ?? [];
  return Number(digits) * ({ k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[unit] ?? 1);
}

/** The sandbox itself has one or two processes. */
const OF_THE_WALLS = 2;

/** Describes which limit a tree exceeds, for humans; undefined if none. */
export function tooMuch(
  { pids, memory_bytes }: TreeUsage,
  memory: string,
  most_processes: number,
): string | undefined {
  if (memory_bytes > memoryBytes(memory)) return `it takes more memory than ${memory}`;
  if (pids.length > most_processes + OF_THE_WALLS) return `it has more processes than ${most_processes}`;
  return undefined;
}
