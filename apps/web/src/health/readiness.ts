/** `/readyz`: the checks of the specification's table, each with its own threshold (Public endpoints). */
import { setTimeout as delay } from 'node:timers/promises';
import { lastSuccessfulBackup, readChannelFigures, readTicks } from '@acp/core';
import type { Database, PoolStats } from '@acp/db';
import { type Config, serviceVersion } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { CheckTimings, type Timing } from './check-timings.ts';
import { backupFolder, readDisk } from './disk.ts';
import { CHECK_MS, soon } from './soon.ts';

interface CheckEntry {
  name: string;
  ok: boolean;
  duration_ms: number;
  detail?: string;
  [field: string]: unknown;
}

interface ReadinessReport {
  status: 'ready' | 'not_ready';
  version: string;
  commit: string;
  checks: CheckEntry[];
  recent_check_timings: Record<string, Timing>;
}

interface Outcome {
  ok: boolean;
  detail?: string;
  [field: string]: unknown;
}

export interface ReadinessOptions {
  /** Limit of each check. */
  check_ms?: number | undefined;
  /** The connections that are watched, if they are not those that the checks use. */
  pool?: (() => PoolStats) | undefined;
}

/** Seconds between two reports of a scheduler's counters: the workers' interval within the boot grace. */
const WORKER_INTERVAL_SEC = 10;
const MIN_TICKS = 10;
const MIN_SAMPLES = 10;

export class Readiness {
  readonly timings = new CheckTimings();
  readonly #database: Database;
  readonly #config: Config;
  readonly #check_ms: number;
  readonly #pool: () => PoolStats;
  readonly #started = performance.now();

  constructor(
    database: Database,
    config: Config,
    { check_ms = CHECK_MS, pool = database.poolStats }: ReadinessOptions = {},
  ) {
    this.#database = database;
    this.#config = config;
    this.#check_ms = check_ms;
    this.#pool = pool;
  }

  /** Every row is always present, whatever is broken, and none is waited for longer than `CHECK_MS`. */
  async report(): Promise<ReadinessReport> {
    const workers: CheckEntry[] = [];
    const [ping, aggregate, channels, disk, backup] = await Promise.all([
      this.timePing(),
      this.#timed('workers', () => this.#checkWorkers(workers)),
      this.#checkChannels(),
      this.#timed('disk', () => this.#checkDisk()),
      this.#timed(
        'backup',
        () => this.#checkBackup(),
        () => this.#backupFigures(null),
      ),
    ]);
    const checks = [ping, aggregate, ...workers, ...channels, disk, backup];
    const ready = checks.every((check) => check.ok);
    return {
      status: ready ? 'ready' : 'not_ready',
      ...serviceVersion(),
      checks,
      recent_check_timings: this.timings.all(),
    };
  }

  /** The one check that each scrape of `/metrics` makes as well: alerts must not depend on who asks `/readyz`. */
  async timePing(): Promise<CheckEntry> {
    return this.#timed(
      'db_ping',
      (signal) => this.#pingDatabase(signal),
      () => this.#poolFigures(),
    );
  }

  /** The check for deployments (decisions 7.40): database and schema, nothing that another process could break. */
  async reasonsNotReady(migrated: () => Promise<boolean>): Promise<string[]> {
    const current = await soon(migrated(), this.#check_ms);
    if (current === null) return ['database unreachable'];
    return current ? [] : ['migrations pending'];
  }

  async isDatabaseUp(): Promise<boolean> {
    return (await soon(this.#database.db.execute(sql`select 1`), this.#check_ms)) !== null;
  }

  /** @param fields those that the row has even if the check itself fails */
  async #timed(
    name: string,
    check: (signal: AbortSignal) => Promise<Outcome>,
    fields: () => Record<string, unknown> = () => ({}),
  ): Promise<CheckEntry> {
    const begin = performance.now();
    const over = new AbortController();
    const late = delay(this.#check_ms, undefined, { signal: over.signal, ref: false }).then(
      (): Outcome => ({ ok: false, ...fields(), detail: `no answer in ${this.#check_ms / 1000} s` }),
      (): Outcome => ({ ok: false }),
    );
    const failed = (): Outcome => ({ ok: false, ...fields(), detail: 'the check failed' });
    const outcome = await Promise.race([check(over.signal).catch(failed), late]);
    over.abort();
    const duration_ms = round(performance.now() - begin);
    this.timings.add(name, duration_ms);
    const { p99_ms, count } = this.timings.of(name);
    const slow = count >= MIN_SAMPLES && p99_ms > this.#config.readyz_check_p99_ms;
    if (!slow) return { name, duration_ms, ...outcome };
    const slowness = `p99 of ${p99_ms} ms over the last ${count} checks`;
    const detail = outcome.detail === undefined ? slowness : `${outcome.detail}; ${slowness}`;
    return { name, duration_ms, ...outcome, ok: false, detail };
  }

  #poolFigures(): Record<string, unknown> {
    const { acquired, total, max, idle } = this.#pool();
    return {
      pool_acquired: acquired,
      pool_total: total,
      pool_max_open: max,
      pool_idle: idle,
      pool_utilization_pct: round((acquired / max) * 100),
    };
  }

  async #pingDatabase(signal: AbortSignal): Promise<Outcome> {
    // Read beforehand: the ping itself takes a connection.
    const figures = this.#poolFigures();
    const reached = await this.#database.db.execute(sql`select 1`).then(
      () => true,
      () => false,
    );
    if (!reached || signal.aborted) return { ok: false, ...figures, detail: 'the database is unreachable' };
    const utilization = Number(figures.pool_utilization_pct);
    const ok = utilization <= this.#config.readyz_pool_utilization_pct;
    return { ok, ...figures, ...(ok ? {} : { detail: `${utilization} % of the connections are in use` }) };
  }

  /** Returns the aggregate row and adds one per worker of the reporting schedulers to `rows`. */
  async #checkWorkers(rows: CheckEntry[]): Promise<Outcome> {
    const totals = await readTicks(this.#database.db).catch(() => null);
    if (totals === null) return { ok: false, detail: 'the counters could not be read' };
    const limit = this.#config.readyz_worker_error_rate_pct;
    for (const { worker, ticks, errors, schedulers } of totals) {
      const rate = ticks === 0 ? 0 : (errors / ticks) * 100;
      rows.push({
        name: `worker:${worker}`,
        ok: ticks <= MIN_TICKS || rate <= limit,
        duration_ms: 0,
        ticks,
        errors,
        error_rate_pct: round(rate),
        detail: schedulers === 1 ? '1 scheduler' : `${schedulers} schedulers`,
      });
    }
    return this.#aggregate(rows);
  }

  /**
   * One row per vendor, across all companies: `/readyz` is public. Silence counts, not what a vendor reports about one
   * company's tokens: no tenant may have the instance reported as unready.
   */
  async #checkChannels(): Promise<CheckEntry[]> {
    const figures = await soon(readChannelFigures(this.#database.db), this.#check_ms);
    return (figures ?? []).map(({ kind, connected, connecting, failing, refused, silent_sec }) => ({
      name: `channel:${kind}`,
      ok: silent_sec === null || silent_sec <= this.#config.readyz_channel_staleness_sec,
      duration_ms: 0,
      detail: [
        `${connected} connected, ${connecting} connecting, ${failing} failing, ${refused} refused`,
        ...(silent_sec === null ? [] : [`silent for ${Math.round(silent_sec)} s at most`]),
      ].join('; '),
    }));
  }

  #aggregate(rows: readonly CheckEntry[]): Outcome {
    if (rows.length > 0) {
      const failing = rows.filter((row) => !row.ok).map((row) => row.name);
      return { ok: failing.length === 0, detail: failing.join(', ') || `${rows.length} workers` };
    }
    const grace = (performance.now() - this.#started) / 1000 < 2 * WORKER_INTERVAL_SEC;
    return { ok: grace, detail: grace ? 'starting' : 'no scheduler reports' };
  }

  async #checkDisk(): Promise<Outcome> {
    const usage = await readDisk(backupFolder(this.#config)).catch(() => null);
    if (!usage) return { ok: false, detail: 'usage could not be read' };
    const ok = usage.pct_used <= this.#config.readyz_disk_pct;
    return {
      ok,
      ...usage,
      pct_used: round(usage.pct_used),
      ...(ok ? {} : { detail: 'the file system is nearly full' }),
    };
  }

  #backupFigures(since_hours: number | null): Record<string, unknown> {
    return { since_hours, threshold_hours: this.#config.readyz_backup_max_age_hours };
  }

  async #checkBackup(): Promise<Outcome> {
    const checked = this.#config.readyz_backup_check === 'enable';
    const last = await lastSuccessfulBackup(this.#database.db).catch(() => null);
    const figures = this.#backupFigures(last ? round(last.since_hours) : null);
    const wrong = backupTrouble(last, this.#config.readyz_backup_max_age_hours);
    if (wrong === null) return { ok: true, ...figures };
    return { ok: !checked, ...figures, detail: checked ? wrong : `${wrong}; not checked` };
  }
}

/** Null: no trouble. */
function backupTrouble(
  last: { since_hours: number } | null | undefined,
  threshold_hours: number,
): string | null {
  if (last === null) return 'the backups could not be read';
  if (last === undefined) return 'no backup was made yet';
  return last.since_hours > threshold_hours ? 'the last backup is too old' : null;
}

const round = (value: number) => Math.round(value * 100) / 100;
