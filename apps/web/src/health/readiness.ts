/** `/readyz`: the checks of the specification's table, each with its own threshold (Public endpoints). */
import { lastSuccessfulBackup, readTicks } from '@acp/core';
import type { Database } from '@acp/db';
import { type Config, serviceVersion } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { CheckTimings, type Timing } from './check-timings.ts';
import { readDisk } from './disk.ts';

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

/** Seconds between two reports of a scheduler's counters: the workers' interval of the boot grace. */
const WORKER_INTERVAL_SEC = 10;
const MIN_TICKS = 10;
const MIN_SAMPLES = 10;

export class Readiness {
  readonly timings = new CheckTimings();
  readonly #database: Database;
  readonly #config: Config;
  readonly #started = performance.now();

  constructor(database: Database, config: Config) {
    this.#database = database;
    this.#config = config;
  }

  async report(): Promise<ReadinessReport> {
    const [ping, workers, disk, backup] = await Promise.all([
      this.#timed('db_ping', () => this.#pingDatabase()),
      this.#workers(),
      this.#timed('disk', () => this.#checkDisk()),
      this.#timed('backup', () => this.#checkBackup()),
    ]);
    const checks = [ping, ...workers, disk, backup];
    const ready = checks.every((check) => check.ok);
    return {
      status: ready ? 'ready' : 'not_ready',
      ...serviceVersion(),
      checks,
      recent_check_timings: this.timings.all(),
    };
  }

  /** What a deployment probes (decisions 7.40): database and schema, nothing that another process could spoil. */
  async reasonsNotReady(migrated: () => Promise<boolean>): Promise<string[]> {
    try {
      return (await migrated()) ? [] : ['migrations pending'];
    } catch {
      return ['database unreachable'];
    }
  }

  async #timed(name: string, check: () => Promise<Outcome>): Promise<CheckEntry> {
    const begin = performance.now();
    const outcome = await check().catch((): Outcome => ({ ok: false, detail: 'the check failed' }));
    const duration_ms = round(performance.now() - begin);
    this.timings.add(name, duration_ms);
    const { p99_ms, count } = this.timings.of(name);
    const slow = count >= MIN_SAMPLES && p99_ms > this.#config.readyz_check_p99_ms;
    if (!slow) return { name, duration_ms, ...outcome };
    const detail = `p99 of ${p99_ms} ms over the last ${count} checks`;
    return { name, duration_ms, ...outcome, ok: false, detail };
  }

  async #pingDatabase(): Promise<Outcome> {
    const before = this.#database.poolStats();
    await this.#database.db.execute(sql`select 1`);
    const utilization = (before.acquired / before.max) * 100;
    const ok = utilization <= this.#config.readyz_pool_utilization_pct;
    return {
      ok,
      pool_acquired: before.acquired,
      pool_total: before.total,
      pool_max_open: before.max,
      pool_idle: before.idle,
      pool_utilization_pct: round(utilization),
      ...(ok ? {} : { detail: `${round(utilization)} % of the connections are in use` }),
    };
  }

  /** The aggregate row, then one per worker of the schedulers that report. */
  async #workers(): Promise<CheckEntry[]> {
    const begin = performance.now();
    const totals = await readTicks(this.#database.db).catch(() => null);
    const duration_ms = round(performance.now() - begin);
    this.timings.add('workers', duration_ms);
    if (totals === null)
      return [{ name: 'workers', ok: false, duration_ms, detail: 'the counters could not be read' }];
    const limit = this.#config.readyz_worker_error_rate_pct;
    const rows = totals.map(({ worker, ticks, errors, schedulers }): CheckEntry => {
      const rate = ticks === 0 ? 0 : (errors / ticks) * 100;
      const ok = ticks <= MIN_TICKS || rate <= limit;
      return {
        name: `worker:${worker}`,
        ok,
        duration_ms: 0,
        ticks,
        errors,
        error_rate_pct: round(rate),
        detail: `${schedulers} schedulers`,
      };
    });
    return [this.#aggregate(rows, duration_ms), ...rows];
  }

  #aggregate(rows: readonly CheckEntry[], duration_ms: number): CheckEntry {
    const failing = rows.filter((row) => !row.ok).map((row) => row.name);
    const uptime_sec = (performance.now() - this.#started) / 1000;
    if (rows.length > 0) {
      return {
        name: 'workers',
        ok: failing.length === 0,
        duration_ms,
        detail: failing.join(', ') || `${rows.length} workers`,
      };
    }
    const grace = uptime_sec < 2 * WORKER_INTERVAL_SEC;
    return { name: 'workers', ok: grace, duration_ms, detail: grace ? 'starting' : 'no scheduler reports' };
  }

  async #checkDisk(): Promise<Outcome> {
    const usage = await readDisk(this.#config.home).catch(() => null);
    if (!usage) return { ok: false, detail: 'usage could not be read' };
    const ok = usage.pct_used <= this.#config.readyz_disk_pct;
    return {
      ok,
      ...usage,
      pct_used: round(usage.pct_used),
      ...(ok ? {} : { detail: 'the file system is nearly full' }),
    };
  }

  async #checkBackup(): Promise<Outcome> {
    const threshold_hours = this.#config.readyz_backup_max_age_hours;
    const checked = this.#config.readyz_backup_check === 'enable';
    const last = await lastSuccessfulBackup(this.#database.db).catch(() => null);
    const since_hours = last ? round(last.since_hours) : null;
    const wrong = backupTrouble(last, threshold_hours);
    if (wrong === null) return { ok: true, since_hours, threshold_hours };
    return { ok: !checked, since_hours, threshold_hours, detail: checked ? wrong : `${wrong}; not checked` };
  }
}

/** Null: there is none. */
function backupTrouble(
  last: { since_hours: number } | null | undefined,
  threshold_hours: number,
): string | null {
  if (last === null) return 'the backups could not be read';
  if (last === undefined) return 'no backup was made yet';
  return last.since_hours > threshold_hours ? 'the last backup is too old' : null;
}

const round = (value: number) => Math.round(value * 100) / 100;
