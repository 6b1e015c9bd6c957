import { readdir, readFile } from 'node:fs/promises';

export interface Usage {
  processes: number;
  memory_bytes: number;
}

const PAGE_BYTES = 4096;

/**
 * What the trees below these processes take, from one look at /proc: a backstop where no control group bounds them. Empty
 * on machines without /proc.
 */
export async function usageBelow(roots: readonly number[]): Promise<Map<number, Usage>> {
  const all = await processes();
  const children = Map.groupBy(all, ({ parent }) => parent);
  return new Map(
    roots.map((root) => {
      const usage = { processes: 0, memory_bytes: 0 };
      const queue = all.filter(({ pid }) => pid === root);
      for (let each = queue.pop(); each !== undefined; each = queue.pop()) {
        usage.processes += 1;
        usage.memory_bytes += each.memory_bytes;
        queue.push(...(children.get(each.pid) ?? []));
      }
      return [root, usage];
    }),
  );
}

async function processes() {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(names.map(async (name) => statOf(Number(name))));
  return found.filter((each) => each !== undefined);
}

async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  if (text === undefined) return undefined;
  // The name in brackets may hold anything; fields are counted behind it: state, parent, …, resident pages (the 22nd).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { pid, parent: Number(fields[1]), memory_bytes: Number(fields[21]) * PAGE_BYTES };
}

/** `256m` as bytes. */
export function memoryBytes(limit: string): number {
  const [, digits = '0', unit = ''] = /^(\d+)([bkmg]?)$/.exec(limit) ?? [];
  return Number(digits) * ({ k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[unit] ?? 1);
}
