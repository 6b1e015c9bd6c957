import { basename } from 'node:path';
import type { DiskWatch } from '../programs/disk-watch.ts';
import { HeldFolder } from '../programs/held-folder.ts';

interface Program {
  readonly pid: number | undefined;
  readonly workspace: string;
  kill(reason: string): Promise<void>;
}

/**
 * Tells the disk's watch which programs of plugins and MCP servers run: one that has written more than it may keep is ended when the disk
 * is nearly full, before its folder is measured the next time.
 */
export class ProgramsOnDisk {
  readonly #disk: DiskWatch;
  readonly #allowed: number;
  /** How each one's watch is ended, by process. */
  readonly #known = new Map<number | undefined, Promise<() => Promise<void>>>();

  /** @param allowed bytes that each may write */
  constructor(disk: DiskWatch, allowed: number) {
    this.#disk = disk;
    this.#allowed = allowed;
  }

  keepOnly(running: readonly Program[]): void {
    for (const program of running)
      if (!this.#known.has(program.pid)) this.#known.set(program.pid, this.#begin(program));
    const pids = new Set(running.map(({ pid }) => pid));
    for (const [pid, begun] of this.#known) {
      if (pids.has(pid)) continue;
      this.#known.delete(pid);
      void begun.then(async (end) => end());
    }
  }

  /** Its folder is the service's own, so that its path can be trusted. Never rejects. */
  async #begin(program: Program): Promise<() => Promise<void>> {
    const held = await HeldFolder.open(program.workspace).catch(() => null);
    if (held === null) return async () => Promise.resolve();
    const watched = this.#disk.open({ program: basename(program.workspace) }, this.#allowed);
    watched.add(held);
    const exit = watched.watch(async (reason) => program.kill(reason));
    return async () => {
      exit();
      await watched.ended();
      watched.close();
      await held.close();
    };
  }
}
