import { memoryBytes, ProcessorShare, tooMuch, usageBelow } from '@acp/adapters';
import { type Config, type Controller, controllers } from '@acp/kernel';
import type { DiskWatch } from '../programs/disk-watch.ts';
import { ProgramsOnDisk } from './programs-on-disk.ts';
import { workspaceBytes } from './workspace.ts';

type Limits = Pick<
  Config,
  'plugin_cpu_limit' | 'plugin_memory_limit' | 'plugin_pids_limit' | 'plugin_workspace_limit'
>;

/** A process with limits on its usage. */
interface WatchedProcess {
  readonly pid: number | undefined;
  readonly workspace: string;
  /** Limits enforced by the kernel. */
  readonly grouped: readonly Controller[];
  kill(reason: string): Promise<void>;
  /** Adds a message to its log. */
  note?(message: string): void;
}

/** Times in milliseconds. */
export interface WatchTimes {
  every: number;
  /** Less often, since searching a workspace costs more. */
  workspace_every: number;
}

const defaultTimes: WatchTimes = { every: 2000, workspace_every: 30_000 };
/**
 * Enforces limits that no control group enforces: kills processes that exceed memory, process count or disk space, and
 * pauses those that exceed processor time.
 */
export class UsageWatch {
  readonly #config: Limits;
  readonly #watched: () => Iterable<WatchedProcess>;
  readonly #times: WatchTimes;
  readonly #shares: ProcessorShare;
  readonly #onDisk: ProgramsOnDisk | undefined;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #measuredAt = performance.now();

  constructor(
    config: Limits,
    watched: () => Iterable<WatchedProcess>,
    { disk, ...times }: Partial<WatchTimes> & { disk?: DiskWatch | undefined } = {},
  ) {
    this.#config = config;
    this.#watched = watched;
    this.#times = { ...defaultTimes, ...times };
    this.#shares = new ProcessorShare(config.plugin_cpu_limit);
    this.#onDisk = disk && new ProgramsOnDisk(disk, config.plugin_workspace_limit);
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#look(), this.#times.every).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopping.abort();
    this.#shares.close();
    this.#onDisk?.keepOnly([]);
  }

  async #look(): Promise<void> {
    const running = [...this.#watched()].filter(({ pid }) => pid !== undefined);
    this.#shares.keepOnly(running.map(({ pid }) => pid!));
    this.#onDisk?.keepOnly(running);
    if (running.length === 0) return;
    const watched = running.filter(({ grouped }) => grouped.length < controllers.length);
    const usage = await usageBelow(
      watched.map(({ pid }) => pid!),
      memoryBytes(this.#config.plugin_memory_limit),
    );
    if (this.#stopping.signal.aborted) return;
    const measures = performance.now() - this.#measuredAt >= this.#times.workspace_every;
    if (measures) this.#measuredAt = performance.now();
    for (const each of running) {
      const taken = usage.get(each.pid!);
      const reason =
        taken && tooMuch(taken, this.#config.plugin_memory_limit, this.#config.plugin_pids_limit);
      if (reason !== undefined) {
        void each.kill(reason);
        continue;
      }
      if (taken && !each.grouped.includes('cpu') && this.#shares.look(each.pid!, taken))
        each.note?.(
          `it takes more processor time than ${this.#config.plugin_cpu_limit} and is halted for it`,
        );
      if (measures) void this.#measure(each);
    }
  }

  async #measure(each: WatchedProcess): Promise<void> {
    const limit = this.#config.plugin_workspace_limit;
    const bytes = await workspaceBytes(each.workspace, limit, this.#stopping.signal).catch(() => 0);
    if (bytes > limit) await each.kill(`it keeps more than ${limit} bytes in its workspace`);
  }
}
