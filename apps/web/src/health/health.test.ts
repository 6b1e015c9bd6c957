import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase, type Database } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { createCompany, databaseWithQueue, testLogger } from '@acp/testkit';
import express from 'express';
import request from 'supertest';
import { createHealthApp } from '../health-server.ts';
import { CheckTimings } from './check-timings.ts';
import { createMetrics } from './metrics.ts';
import { Readiness } from './readiness.ts';
import { healthRouter } from './router.ts';

let database: Database;
/** A database whose server is unreachable. */
let away: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
  away = openDatabase({
    url: 'postgres://x:y@127.0.0.1:1/z',
    max: 4,
    application_name: 'away',
    connect_timeout_ms: 50,
  });
});

/** A database that is connected and answers nothing any more. */
const frozen = (): Database => ({
  ...away,
  db: { execute: async () => new Promise(() => undefined) } as unknown as Database['db'],
});

describe('a database that answers nothing', () => {
  it('keeps no probe waiting: each says so in time, with all rows and series that need no database', async () => {
    const app = express().use(healthRouter({ config: loadConfig({}), database: frozen(), check_ms: 50 }));
    const health = await request(app).get('/api/health');
    expect([health.status, health.body]).toEqual([503, { status: 'unavailable', db: 'unreachable' }]);
    const ready = await request(app).get('/healthz/ready');
    expect([ready.status, ready.text]).toEqual([503, 'not ready: database unreachable']);
    const report = await request(app).get('/readyz');
    expect(report.status).toBe(503);
    const rows = (report.body as { checks: { name: string; ok: boolean }[] }).checks;
    expect(rows.map(({ name, ok }) => [name, ok])).toEqual([
      ['db_ping', false],
      ['workers', false],
      ['disk', expect.any(Boolean)],
      ['backup', false],
    ]);
    const metrics = await request(app).get('/metrics');
    expect(metrics.status).toBe(200);
    expect(metrics.text).toContain('service_disk_used_pct ');
    expect(metrics.text).not.toContain('\nservice_companies ');
  });
});

const rowsOf = async (readiness: Readiness) => {
  const { status, checks, recent_check_timings } = await readiness.report();
  return { status, timings: recent_check_timings, rows: new Map(checks.map((row) => [row.name, row])) };
};
const ticks = async (worker: string, all: number, errors: number) =>
  database.pool.query(
    `insert into scheduler_ticks (scheduler, worker, ticks, errors, started_at) values ('one', $1, $2, $3, now())
     on conflict (scheduler, worker) do update set ticks = $2, errors = $3, updated_at = now()`,
    [worker, all, errors],
  );
const backup = async (hours: number) =>
  database.pool.query(
    `insert into backups (status, trigger, claimed_by, started_at) values ('succeeded', 'operator', 'x', now() - make_interval(hours => $1))`,
    [hours],
  );

describe('/readyz', () => {
  it('has each row with all its fields', async () => {
    await ticks('queued-runs', 50, 0);
    await backup(1);
    const { rows, status, timings } = await rowsOf(new Readiness(database, loadConfig({})));
    expect(status).toBe([...rows.values()].every(({ ok }) => ok) ? 'ready' : 'not_ready');
    expect([...rows.keys()]).toEqual(['db_ping', 'workers', 'worker:queued-runs', 'disk', 'backup']);
    const number = expect.any(Number);
    expect(rows.get('db_ping')).toMatchObject({
      ok: true,
      duration_ms: number,
      pool_acquired: number,
      pool_total: number,
      pool_max_open: number,
      pool_idle: number,
      pool_utilization_pct: number,
    });
    expect(rows.get('worker:queued-runs')).toMatchObject({
      ok: true,
      ticks: 50,
      errors: 0,
      error_rate_pct: 0,
    });
    expect(rows.get('disk')).toMatchObject({
      pct_used: number,
      total_bytes: number,
      free_bytes: number,
      journal_bytes: number,
      backup_dir_bytes: number,
    });
    expect(rows.get('backup')).toMatchObject({ ok: true, since_hours: 1, threshold_hours: 36 });
    expect(Object.keys(timings).toSorted()).toEqual(['backup', 'db_ping', 'disk', 'workers']);
    expect(timings.db_ping).toEqual({ p50_ms: number, p95_ms: number, p99_ms: number, count: 1 });
  });

  it('has the same rows and fields where the database is away, and says of each what is wrong', async () => {
    const { rows, status } = await rowsOf(new Readiness(away, loadConfig({})));
    expect([status, ...rows.keys()]).toEqual(['not_ready', 'db_ping', 'workers', 'disk', 'backup']);
    expect(rows.get('db_ping')).toMatchObject({
      ok: false,
      pool_max_open: 4,
      pool_utilization_pct: 0,
      detail: 'the database is unreachable',
    });
    expect(rows.get('workers')).toMatchObject({ ok: false, detail: 'the counters could not be read' });
    expect(rows.get('backup')).toMatchObject({ ok: false, since_hours: null, threshold_hours: 36 });
  });

  it('is not ready by each threshold, and falls back to the default where one makes no sense', async () => {
    await backup(10);
    await database.pool.query(`delete from backups where started_at > now() - interval '2 hours'`);
    const strict = await rowsOf(
      new Readiness(
        database,
        loadConfig({ SERVICE_READYZ_DISK_PCT: '0', SERVICE_READYZ_BACKUP_MAX_AGE_HOURS: '9.5' }),
      ),
    );
    expect(strict.rows.get('disk')).toMatchObject({ ok: false, detail: 'the file system is nearly full' });
    expect(strict.rows.get('backup')).toMatchObject({ ok: false, threshold_hours: 9.5 });
    const senseless = loadConfig({
      SERVICE_READYZ_DISK_PCT: '900',
      SERVICE_READYZ_BACKUP_MAX_AGE_HOURS: 'many',
      SERVICE_READYZ_POOL_UTILIZATION_PCT: '',
      SERVICE_READYZ_CHECK_P99_MS: '-1',
      SERVICE_READYZ_WORKER_ERROR_RATE_PCT: '50 %',
      SERVICE_READYZ_BACKUP_CHECK: 'perhaps',
    });
    const { rows } = await rowsOf(new Readiness(database, senseless));
    expect(rows.get('backup')).toMatchObject({ ok: true, threshold_hours: 36 });
    expect(senseless).toMatchObject({ readyz_disk_pct: 90, readyz_check_p99_ms: 1000 });
  });

  it('has a row for each vendor of channels: silence counts, tokens that are not taken do not', async () => {
    const { id } = await createCompany(database.db);
    const state = async (name: string, kind: string, status: string, silent_sec: number) =>
      database.pool.query(
        `insert into channels (company_id, name, kind, bot_token, status, last_seen_at, updated_at)
          select $1, $2, $3, '', $4, at, at from (select now() - make_interval(secs => $5) as at) t
          on conflict (company_id, name) do update set last_seen_at = excluded.last_seen_at, updated_at = excluded.updated_at`,
        [id, name, kind, status, silent_sec],
      );
    const look = async (env: Record<string, string> = {}) => {
      const { rows } = await rowsOf(new Readiness(database, loadConfig(env)));
      return [...rows]
        .filter(([name]) => name.startsWith('channel:'))
        .map(([name, { ok, detail }]) => [name, ok, detail]);
    };
    await state('good', 'telegram', 'connected', 10);
    await state('bad tokens', 'slack', 'refused', 7200);
    expect(await look()).toEqual([
      ['channel:slack', true, '0 connected, 0 connecting, 0 failing, 1 refused'],
      ['channel:telegram', true, '1 connected, 0 connecting, 0 failing, 0 refused; silent for 10 s at most'],
    ]);
    // A channel that has gone silent counts, whatever the others report.
    await state('silent', 'telegram', 'failing', 61);
    expect((await look())[1]).toEqual([
      'channel:telegram',
      false,
      '1 connected, 0 connecting, 1 failing, 0 refused; silent for 61 s at most',
    ]);
    expect((await look({ SERVICE_READYZ_CHANNEL_STALENESS_SEC: '90' }))[1]![1]).toBe(true);
    await database.pool.query('delete from channels');
    expect(await look()).toEqual([]);
  });

  it('holds a worker’s errors against it from its eleventh tick on', async () => {
    const readiness = new Readiness(database, loadConfig({}));
    await ticks('flaky', 10, 9);
    expect((await rowsOf(readiness)).rows.get('worker:flaky')).toMatchObject({
      ok: true,
      error_rate_pct: 90,
    });
    await ticks('flaky', 11, 6);
    const { rows } = await rowsOf(readiness);
    expect(rows.get('worker:flaky')).toMatchObject({ ok: false, ticks: 11, errors: 6 });
    expect(rows.get('workers')).toMatchObject({ ok: false, detail: 'worker:flaky' });
    await ticks('flaky', 12, 6);
    expect((await rowsOf(readiness)).rows.get('workers')).toMatchObject({ ok: true });
  });

  it('is patient with the schedulers while it boots, and says so when none reports', async () => {
    await database.pool.query('delete from scheduler_ticks');
    const { rows } = await rowsOf(new Readiness(database, loadConfig({})));
    expect(rows.get('workers')).toMatchObject({ ok: true, detail: 'starting' });
  });

  it('counts a check as failed that was slow of late, from the tenth sample on', async () => {
    const readiness = new Readiness(database, loadConfig({ SERVICE_READYZ_CHECK_P99_MS: '500' }));
    for (let n = 0; n < 8; n += 1) readiness.timings.add('db_ping', 900);
    expect((await rowsOf(readiness)).rows.get('db_ping')).toMatchObject({ ok: true });
    expect((await rowsOf(readiness)).rows.get('db_ping')).toMatchObject({
      ok: false,
      detail: 'p99 of 900 ms over the last 10 checks',
    });
    // A reason of its own does not hide it.
    for (let n = 0; n < 10; n += 1) readiness.timings.add('backup', 900);
    await database.pool.query('delete from backups');
    expect((await rowsOf(readiness)).rows.get('backup')?.detail).toMatch(/^no backup .*; p99 of 900 ms over/);
  });

  it('forgets after five minutes how slow a check was in an outage', () => {
    let now = 0;
    const timings = new CheckTimings(() => now);
    for (const duration_ms of [3000, 3000, 5]) timings.add('db_ping', duration_ms);
    now = 5 * 60_000;
    for (let n = 0; n < 20; n += 1) timings.add('db_ping', 5);
    expect(timings.of('db_ping')).toMatchObject({ p99_ms: 3000, count: 23 });
    now += 1;
    expect(timings.all()).toEqual({ db_ping: { p50_ms: 5, p95_ms: 5, p99_ms: 5, count: 20 } });
  });

  it('watches the connections of the tier, where the checks have their own', async () => {
    const pool = () => ({ max: 10, total: 10, idle: 0, acquired: 10, waiting: 3 });
    const { rows } = await rowsOf(new Readiness(database, loadConfig({}), { pool }));
    expect(rows.get('db_ping')).toMatchObject({
      ok: false,
      pool_acquired: 10,
      pool_max_open: 10,
      pool_utilization_pct: 100,
    });
  });
});

describe('/metrics', () => {
  const scrape = async (of: Database): Promise<string> => {
    const config = loadConfig({});
    const readiness = new Readiness(of, config);
    await readiness.report();
    return createMetrics({ config, database: of, readiness, streams: () => 3 }).text();
  };

  it('tells what the specification names and what the instance has to do', async () => {
    await backup(1);
    const text = await scrape(database);
    const named = [
      'service_disk_used_pct',
      'service_disk_free_bytes',
      'service_journal_bytes',
      'service_backup_last_success_timestamp_seconds',
      'service_readyz_check_duration_ms{check="db_ping",pct="99"}',
      'service_readyz_check_samples{check="disk"}',
      'service_runs{status="queued"}',
      'service_queue_jobs{queue="execute-run",state="failed"}',
      'service_alerts{level="error"}',
      'service_database_waiting',
      'service_live_streams',
    ];
    for (const series of named) expect(text).toContain(`\n${series} `);
    // Names that only counters have; promtool says the same, where it is installed.
    expect(text.match(/^# TYPE \S+_total (?!counter)\w+$/gm)).toBeNull();
    expect(text).toMatch(/^service_nodejs_active_resources\{type="\w+"\} \d+$/m);
    const promtool = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    // Only if it is installed. Some names are prom-client's own, one is the specification's.
    const complaints = promtool.error === undefined ? promtool.stderr.split('\n') : [];
    const known = /^$|service_nodejs_eventloop_lag|process_|service_readyz_check_duration_ms/;
    expect(complaints.filter((line) => !known.test(line))).toEqual([]);
  });

  it('leaves out what the database would know where it is away, and tells the rest', async () => {
    const text = await scrape(away);
    expect(text).toMatch(/^service_disk_used_pct \d/m);
    expect(text).toMatch(/^service_database_connections_max 4$/m);
    // `service_runs_ended_total` is counted by this process itself.
    expect(text).not.toMatch(/^service_(backup_last|runs(?!_ended)|schedulers|queue_jobs)\S* /m);
  });

  it('is served by a process without a database too', async () => {
    const health = healthRouter({ config: loadConfig({}), database: away });
    const app = createHealthApp(health, loadConfig({ RATE_LIMIT_RPM: '3' }), testLogger());
    await request(app).get('/metrics').expect(200);
    await request(app).get('/readyz').expect(503);
    await request(app).get('/healthz').expect(200);
    await request(app).get('/healthz').expect(429);
  });

  it('is all that a process of another tier serves', async () => {
    const config = loadConfig({});
    const app = createHealthApp(healthRouter({ config, database: away }), config, testLogger());
    for (const path of ['/api/health', '/api/agents', '/login']) await request(app).get(path).expect(404);
  });
});
