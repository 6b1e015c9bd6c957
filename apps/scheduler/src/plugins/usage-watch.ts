import type { Config } from '@acp/kernel';
import { memoryBytes, usageBelow } from './usage.ts';
import { workspaceBytes } from './workspace.ts';

type Limits = Pick<Config, 'plugin_memory_limit' | 'plugin_pids_limit' | 'plugin_workspace_limit'>;

/** A process that may take its share and no more. */
export interface WatchedProcess {
  readonly pid: number | undefined;
  readonly workspace: string;
  kill(reason: string): Promise<void>;
}

const WATCH_MS = 2000;
const MEASURE_EVERY = 15;

/** Ends processes that take more than they may of what no control group bounds: memory, processes, the workspace. */
export class UsageWatch {
  readonly #config: Limits;
  readonly #watched: () => Iterable<WatchedProcess>;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;

  constructor(config: Limits, watched: () => Iterable<WatchedProcess>) {
    this.#config = config;
    this.#watched = watched;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#look(), WATCH_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopping.abort();
  }

  async #look(): Promise<void> {
    const { plugin_memory_limit, plugin_pids_limit } = this.#config;
    const running = [...this.#watched()].filter(({ pid }) => pid !== undefined);
    if (running.length === 0) return;
    const most = memoryBytes(plugin_memory_limit);
    const usage = await usageBelow(
      running.map(({ pid }) => pid!),
      most,
    );
    this.#looks += 1;
    for (const each of running) {
      const { processes, memory_bytes } = usage.get(each.pid!) ?? { processes: 0, memory_bytes: 0 };
      if (memory_bytes > most) void each.kill(`it takes more memory than ${plugin_memory_limit}`);
      // The walls have one or two of their own.
      else if (processes > plugin_pids_limit + 2)
        void each.kill(`it has more processes than ${plugin_pids_limit}`);
      else if (this.#looks % MEASURE_EVERY === 0) void this.#measure(each);
    }
  }

  async #measure(each: WatchedProcess): Promise<void> {
    const limit = this.#config.plugin_workspace_limit;
    const bytes = await workspaceBytes(each.workspace, limit, this.#stopping.signal).catch(() => 0);
    if (bytes > limit) await each.kill(`it keeps more than ${limit} bytes in its workspace`);
  }
}
