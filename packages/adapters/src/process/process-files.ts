import { open, readdir } from 'node:fs/promises';

/** A page of most environments; longer files take several reads. */
const PART_BYTES = 16 * 1024;
const READERS = 4;
/**
 * More than a process is started with. By `prctl`, one that runs may call all of its memory its environment, gigabytes that it
 * has never touched.
 */
const MOST_BYTES = 2 * 1024 * 1024;

/**
 * The same file of each process in /proc, `environ` for instance, with what `take` makes of its first 2 MB; without those that have
 * exited or are not ours to read, and empty without /proc. `readFile` allots 128 KB for each file whose size the kernel doesn't say: all
 * processes of a machine at once are 50 MB, which the allocator of a scheduler then keeps. Here a few readers have a part each.
 */
export async function ofEachProcess<T>(
  file: string,
  take: (text: string, pid: number) => T | undefined,
  proc = '/proc',
): Promise<T[]> {
  const names = await readdir(proc).catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).values();
  const found: T[] = [];
  const readers = Array.from({ length: READERS }, async () => {
    const part = Buffer.allocUnsafeSlow(PART_BYTES);
    for (const pid of pids) {
      const text = await textOf(`${proc}/${pid}/${file}`, part);
      const taken = text === undefined ? undefined : take(text, Number(pid));
      if (taken !== undefined) found.push(taken);
    }
  });
  await Promise.all(readers);
  return found;
}

async function textOf(file: string, part: Buffer): Promise<string | undefined> {
  try {
    await using handle = await open(file);
    let text = '';
    while (text.length < MOST_BYTES) {
      const { bytesRead } = await handle.read(part, 0, part.length, null);
      if (bytesRead === 0) break;
      text += part.toString('latin1', 0, bytesRead);
    }
    return text;
  } catch {
    // Exited in the meantime, or not visible to us.
    return undefined;
  }
}
