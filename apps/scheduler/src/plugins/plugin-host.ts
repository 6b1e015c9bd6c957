import {
  claimPlugin,
  failLostJobRuns,
  leaveHosts,
  lookAround,
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
import { UsageWatch, type WatchTimes } from './usage-watch.ts';

export interface PluginHostSettings {
  config: Config;
  database: Database;
  storage: Storage;
  listener: Listener;
  vault: Vault;
  logger: Logger;
  /** Names this process as a holder. */
  name: string;
  /** Whether plugins are switched on. */
  enabled(): Promise<boolean>;
  /** A lease was taken, and its process answers. */
  onReady(): void;
  times?: Partial<RunnerTimes>;
  watch_times?: Partial<WatchTimes>;
}

/** A killed scheduler's plugins run elsewhere within 30 s: a lease, and the patience of one that has its share. */
const LONGEST_LEASE_SEC = 15;
const PATIENCE_SEC = 3;
/** Of its lease: when it is looked after, renewed, and given up where it could not be renewed. */
const [BEAT, RENEW, GIVE_UP] = [0.2, 0.3, 0.75];
/** The pause after a crash, which doubles. */
const PAUSE_MS = 1000;

/**
 * The plugin processes of one scheduler: takes its share of those that are to run, renews their leases, ends those that are
 * not (or no more) its own, and gives away what others should have.
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
  /** Off the list, but their processes still have a moment: nobody else may start them yet. */
  readonly #leaving = new Set<PluginRunner>();
  readonly #ends = new Set<Promise<void>>();
  #working: Promise<void> | null = null;
  #again = false;
  #beat: NodeJS.Timeout | undefined;

  constructor(settings: PluginHostSettings) {
    this.#set = settings;
    this.#leaseSec = Math.min(settings.config.run_lease_sec, LONGEST_LEASE_SEC);
    this.#fetch = createGuardedFetch({ egress: 'public' });
    this.#watch = new UsageWatch(settings.config, () => this.#runners.values(), settings.watch_times);
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

  /** For the queue: only processes that answer are offered commands. */
  leases(): string[] {
    return [...this.#runners]
      .filter(([, { isReady }]) => isReady)
      .map(([plugin_id]) => pluginLease({ plugin_id }));
  }

  /** @throws LeaseLost where it does not run here, or not any more: a command for it is its next holder's */
  runner(plugin_id: string): PluginRunner {
    const runner = this.#runners.get(plugin_id);
    if (runner?.isReady !== true) throw new LeaseLost('the plugin does not run here');
    return runner;
  }

  /** There may be something to start or to end. */
  kick(): void {
    this.#again = true;
    if (this.#working === null && !this.#stopping.signal.aborted) {
      this.#working = this.#work().finally(() => {
        this.#working = null;
      });
    }
  }

  /** Hands all over: each ends in its own time, its lease is given back at once then. */
  async stop(): Promise<void> {
    for (const off of this.#off) off();
    this.#watch.stop();
    this.#stopping.abort();
    const { database, name, logger } = this.#set;
    await this.#working;
    await leaveHosts(database.db, name).catch((error: unknown) =>
      logger.warn('plugins: the host could not sign off', { error }),
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
        this.#set.logger.warn('plugins could not be looked after', { error });
      }
    }
  }

  async #round(): Promise<void> {
    const { database, name } = this.#set;
    await this.#renew();
    const view = await lookAround(database.db, name, (this.#leaseSec * 2) / 3 + 1);
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
    // Another has less than its share: one at a time, so that nothing goes to and fro.
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

  /** An end that nobody here asked for: whoever asks takes it off the list first. */
  async #await(runner: PluginRunner): Promise<void> {
    const failure = await runner.ended;
    if (this.#runners.get(runner.hold.plugin_id) !== runner) return;
    await this.#settle(runner, failure === null ? { how: 'stopped' } : { how: 'failed', error: failure });
  }

  /** Its end is written down once nothing of it is left: only then may another begin. */
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
      await transaction(database, async (tx) => {
        await failLostJobRuns(tx, hold);
        await pluginEnded(tx, hold, end, PAUSE_MS);
      });
    } catch (error) {
      // The lease lapses, and whoever takes it finds that it ran.
      logger.warn('the end of a plugin could not be written down', { plugin_id: hold.plugin_id, error });
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
    const holds = runners.map(({ hold, healthy, checked_at }) => ({ ...hold, healthy, checked_at }));
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

  /** Taken over, deleted, its company is in the trash, or it may be another's by now. Its workspace is the sweep's. */
  async #lose(runner: PluginRunner): Promise<void> {
    this.#runners.delete(runner.hold.plugin_id);
    await runner.kill();
    await this.#settle(runner, { how: 'handed_over' });
  }

  /** As a part of the lease. */
  #sinceRenewal(): number {
    return (performance.now() - this.#renewedAt) / (this.#leaseSec * 1000);
  }

  /** The database refuses, or does not answer at all: what can't be renewed ends before another may take it. */
  #look(): void {
    if (!this.#stopping.signal.aborted) this.kick();
    else void this.#renew().catch(() => undefined);
    if (this.#sinceRenewal() < GIVE_UP) return;
    for (const runner of this.#runners.values()) this.#keep(this.#lose(runner));
  }

  async #runJobs(): Promise<void> {
    const { database, name } = this.#set;
    const due = await transaction(database, async (tx) => takeDueJobs(tx, name));
    for (const job of due)
      void this.#runners
        .get(job.plugin_id)
        ?.runJob(job)
        .catch(() => undefined);
  }
}
