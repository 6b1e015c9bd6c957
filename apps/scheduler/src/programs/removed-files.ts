import { opendir, stat } from 'node:fs/promises';
import { markedProcesses } from '@acp/adapters';

/** Open files looked at of each process. */
const MOST_FILES = 20_000;

/**
 * Bytes of the files on a disk that programs have removed but keep open, which no folder shows, by run. They are freed when the
 * programs end. Empty without /proc.
 */
export async function removedFiles(device: number): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  const seen = new Set<string>();
  for (const { pid, run_id } of await markedProcesses())
    for await (const name of openFiles(`/proc/${pid}/fd`)) {
      const found = await stat(name).catch(() => null);
      if (found?.isFile() !== true || found.nlink > 0 || found.dev !== device) continue;
      // Processes inherit open files.
      const file = `${run_id} ${found.ino}`;
      if (seen.has(file)) continue;
      seen.add(file);
      bytes.set(run_id, (bytes.get(run_id) ?? 0) + found.blocks * 512);
    }
  return bytes;
}

async function* openFiles(folder: string): AsyncGenerator<string> {
  let left = MOST_FILES;
  try {
    for await (const { name } of await opendir(folder)) {
      if ((left -= 1) < 0) return;
      yield `${folder}/${name}`;
    }
  } catch {
    // It has exited, or is not ours to look into.
  }
}
