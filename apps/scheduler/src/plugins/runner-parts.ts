import type { Database } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import type { PluginMetrics } from './plugin-metrics.ts';

/** What a runner works with; shared by all of one scheduler. */
export interface RunnerParts {
  config: Config;
  database: Database;
  storage: Storage;
  vault: Vault;
  logger: Logger;
  /** Guarded. */
  fetch: typeof fetch;
  metrics: PluginMetrics;
  times: RunnerTimes;
  /** Called when a process starts to answer. */
  onReady(): void;
}

/** Times in milliseconds. */
export interface RunnerTimes {
  /** Maximum time from the start to `ready`. */
  ready: number;
  health_every: number;
  health: number;
  event: number;
  job: number;
  tool: number;
}

export const defaultTimes: RunnerTimes = {
  ready: 15_000,
  health_every: 30_000,
  health: 10_000,
  event: 30_000,
  job: 300_000,
  tool: 25_000,
};
