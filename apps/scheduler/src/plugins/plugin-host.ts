import {
  claimPlugin,
  leaveHosts,
  reportPluginHost,
  pluginEnded,
  type PluginEnd,
  type PluginRow,
  renewHolds,
  takeDueJobs,
} from '@acp/core';
import { type Database, type Listener, transaction, WILDCARD } from '@acp/db';
import { type Config, createGuardedFetch, type GuardedFetch, type Logger, type Vault } from '@acp/kernel';
import { LeaseLost } from '@acp/queue';
import { pluginLease } from '@acp/contract';
import type { Storage } from '@acp/storage';
import { listedFetch } from '../egress/listed-fetch.ts';
import { PluginMetrics } from './plugin-metrics.ts';
import { PluginRunner } from './plugin-runner.ts';
import { defaultTimes, type RunnerTimes } from './runner-parts.ts';
import type { WorkspaceSources } from '../workspaces/sources.ts';
import { UsageWatch, type WatchTimes } from './usage-watch.ts';

export interface PluginHostSettings {
  config: Config;
  database: Database;
  storage: Storage;
  listener: Listener;
  vault: Vault;
  /** Where other programs work, on the same disk. */
  workspaces?: Pick<WorkspaceSources, 'disk'>;
  logger: Logger;
  /** Identifies this process as the lease owner. */
  name: string;
  /** Whether plugins are switched on. */
  enabled(): Promise<boolean>;
  /** Called when a lease was acquired and its process answers. */
  onReady(): void;
  times?: Partial<RunnerTimes>;
  watch_times?: Partial<WatchTimes>;
}

/** A killed scheduler's plugins run elsewhere within 30 s: a lease, and the patience of a host that has its share. */
const LONGEST_LEASE_SEC = 15;
const PATIENCE_SEC = 3;
/** Fractions of a lease: when it is checked, when it is renewed, and when it is given up for lack of a renewal. */
const [BEAT, RENEW, GIVE_UP] = [0.2, 0.3, 0.75];
/** Pause after a crash, doubled each time: long enough for someone to see that it is errored. */
const PAUSE_MS = 5000;

/**
 * The plugin processes of one scheduler: claims its share of the plugins to run, renews their leases, stops those that it
 * does not (or no longer) own, and hands over what exceeds its share.
 */
export class PluginHost {
  readonly #set: PluginHostSettings;
  readonly #runners = new Map<string, PluginRunner>();
  readonly #off: (() => void)[];
  readonly #leaseSec: number;
  readonly #metrics = new PluginMetrics();
  readonly #fetch: GuardedFetch;
  readonly #stopping = new AbortController();
  readonly #watch: UsageWatch;
  #renewedAt = 0;
  #renewNow = false;
  /** No longer listed, but their processes still have a moment to end: no one else may start them yet. */
  readonly #leaving = new Set<PluginRunner>();
  readonly #ends = new Set<Promise<void>>();
  #working: Promise<void> | null = null;
  #again = false;
  #beat: NodeJS.Timeout | undefined;

  constructor(settings: PluginHostSettings) {
    this.#set = settings;
    this.#leaseSec = Math.min(settings.config.run_lease_sec, LONGEST_LEASE_SEC);
    this.#fetch = createGuardedFetch({ egress: 'public' });
    this.#watch = new UsageWatch(settings.config, () => this.#runners.values(), {
      ...settings.watch_times,
      disk: settings.workspaces?.disk,
    });
    const { listener } = settings;
    this.#off = [
      listener.on('plugins', (ids) => {
        if (ids.some((id) => id === WILDCARD || this.#runners.has(id))) this.#renewNow = true;
        this.kick();
      }),
      listener.on('events', () => {
        for (const runner of this.#runners.values()) runner.kick();
      }),
      listener.onReconnect(() => {
        this.kick();
        for (const runner of this.#runners.values()) runner.kick();
      }),
    ];
  }

  /** Leases reported to the queue: only processes that answer are offered commands. */
  leases(): string[] {
    return [...this.#runners]
      .filter(([, { isReady }]) => isReady)
      .map(([plugin_id]) => pluginLease({ plugin_id }));
  }

  /** @throws LeaseLost if it does not run here (any more): a command for it goes to its next owner */
  runner(plugin_id: string): PluginRunner {
    const runner = this.#runners.get(plugin_id);
    if (runner?.isReady !== true) throw new LeaseLost('the plugin is not running here');
    return runner;
  }

  /** Call when there may be something to start or to stop. */
  kick(): void {
    this.#again = true;
    if (this.#working === null && !this.#stopping.signal.aborted) {
      this.#working = this.#work().finally(() => {
        this.#working = null;
      });
    }
  }

  /** Hands over all plugins: each lease is released as soon as its process has ended in its own time. */
  async stop(): Promise<void> {
    for (const off of this.#off) off();
    this.#watch.stop();
    this.#stopping.abort();
    const { database, name, logger } = this.#set;
    await this.#working;
    await leaveHosts(database.db, name).catch((error: unknown) =>
      logger.warn('plugins: the host could not unregister', { error }),
    );
    await Promise.all(
      [...this.#runners.values()].map(async (runner) => this.#end(runner, { how: 'handed_over' })),
    );
    await Promise.all(this.#ends);
    clearInterval(this.#beat);
  }

  #keep(end: Promise<void>): void {
    const kept: Promise<void> = end.finally(() => this.#ends.delete(kept));
    this.#ends.add(kept);
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false;
      try {
        const enabled = await this.#set.enabled();
        if (!enabled)
          await Promise.all(
            [...this.#runners.values()].map(async (each) => this.#end(each, { how: 'handed_over' })),
          );
        else await this.#round();
      } catch (error) {
        this.#set.logger.warn('plugin maintenance failed', { error });
      }
    }
  }

  async #round(): Promise<void> {
    const { database, name } = this.#set;
    await this.#renew();
    const view = await reportPluginHost(database.db, name, (this.#leaseSec * 2) / 3 + 1);
    const share = Math.ceil(view.wanted / view.hosts);
    for (let left = view.free; left > 0 && !this.#stopping.signal.aborted; left -= 1) {
      const patience = this.#runners.size < share ? 0 : PATIENCE_SEC;
      const asked = performance.now();
      const claimed = await transaction(database, async (tx) =>
        claimPlugin(tx, name, this.#leaseSec, patience),
      );
      if (claimed === undefined) break;
      if (this.#runners.size === 0) this.#renewedAt = asked;
      this.#run(claimed);
    }
    // Another host has less than its share: hand over one at a time, so that plugins don't move back and forth.
    const [first] = this.#runners.values();
    if (view.free === 0 && this.#runners.size > share && view.fewest < share && first?.isReady === true)
      await this.#end(first, { how: 'handed_over' });
    if (view.jobs_due) await this.#runJobs();
  }

  #run(plugin: PluginRow): void {
    const { name, times } = this.#set;
    const hold = { plugin_id: plugin.id, held_by: name, fence: plugin.fence };
    const parts = {
      ...this.#set,
      fetch: listedFetch(this.#set.database, { company_id: plugin.company_id, door: 'plugin' }, this.#fetch),
      metrics: this.#metrics,
      times: { ...defaultTimes, ...times },
    };
    const runner = new PluginRunner(plugin, hold, parts);
    this.#runners.set(plugin.id, runner);
    this.#beat ??= setInterval(() => this.#look(), BEAT * this.#leaseSec * 1000).unref();
    this.#watch.start();
    void this.#await(runner);
  }

  /** Handles an end that was not requested here: a requested one removes the runner from the list first. */
  async #await(runner: PluginRunner): Promise<void> {
    const failure = await runner.ended;
    if (this.#runners.get(runner.hold.plugin_id) !== runner) return;
    await this.#settle(runner, failure === null ? { how: 'stopped' } : { how: 'failed', error: failure });
  }

  /** Records the end once nothing of the process is left: only then may another start. */
  async #end(runner: PluginRunner, end: PluginEnd): Promise<void> {
    this.#runners.delete(runner.hold.plugin_id);
    this.#leaving.add(runner);
    await runner.stop().finally(() => this.#leaving.delete(runner));
    await this.#settle(runner, end);
  }

  async #settle(runner: PluginRunner, end: PluginEnd): Promise<void> {
    const { database, logger } = this.#set;
    const { hold } = runner;
    if (this.#runners.get(hold.plugin_id) === runner) this.#runners.delete(hold.plugin_id);
    try {
      await transaction(database, async (tx) => pluginEnded(tx, hold, end, PAUSE_MS));
    } catch (error) {
      // The lease expires, and its next owner sees that the plugin was running.
      logger.warn('the end of a plugin could not be recorded', { plugin_id: hold.plugin_id, error });
    }
    this.kick();
  }

  async #renew(): Promise<void> {
    const due = this.#renewNow || this.#sinceRenewal() > RENEW;
    const runners = [...this.#runners.values(), ...this.#leaving];
    if (runners.length === 0 || !due) return;
    this.#renewNow = false;
    const { database, name, logger } = this.#set;
    const asked = performance.now();
    const holds = runners.map(({ hold, healthy, checked_at, complaint }) => ({
      ...hold,
      healthy,
      checked_at,
      complaint,
    }));
    const kept = await renewHolds(database.db, name, holds, this.#leaseSec);
    this.#renewedAt = asked;
    for (const runner of runners) {
      const { plugin_id, fence } = runner.hold;
      const renewed = kept.find((each) => each.plugin_id === plugin_id && each.fence === fence);
      if (renewed?.wanted === true || this.#runners.get(plugin_id) !== runner) continue;
      if (renewed !== undefined) this.#keep(this.#end(runner, { how: 'stopped' }));
      else {
        logger.info('a plugin is not held any more', { plugin_id });
        this.#keep(this.#lose(runner));
      }
    }
  }

  /** Taken over, deleted, its company trashed, or possibly claimed by another. The sweep removes its workspace. */
  async #lose(runner: PluginRunner): Promise<void> {
    this.#runners.delete(runner.hold.plugin_id);
    await runner.kill();
    await this.#settle(runner, { how: 'handed_over' });
  }

  /** Time since the last renewal, as a fraction of the lease. */
  #sinceRenewal(): number {
    return (performance.now() - this.#renewedAt) / (this.#leaseSec * 1000);
  }

  /** If the database refuses or does not answer, stops what can't be renewed before another may claim it. */
  #look(): void {
    if (!this.#stopping.signal.aborted) this.kick();
    else void this.#renew().catch(() => undefined);
    if (this.#sinceRenewal() < GIVE_UP) return;
    for (const runner of this.#runners.values()) this.#keep(this.#lose(runner));
  }

  async #runJobs(): Promise<void> {
    const { database, name } = this.#set;
    const runners = [...this.#runners.values(), ...this.#leaving];
    const in_progress = runners.flatMap(({ jobs }) => jobs.in_progress);
    const due = await transaction(database, async (tx) => takeDueJobs(tx, name, in_progress));
    for (const job of due) void this.#runners.get(job.plugin_id)?.jobs.run(job);
  }
}
