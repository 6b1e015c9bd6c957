/**
 * `/metrics`: the specification's series, from the database and from this process's own counters, in the Prometheus text
 * format. A series whose source is unavailable is left out; the others are still reported.
 */
import {
  type InstanceFigures,
  lastSuccessfulBackup,
  readChannelFigures,
  readFigures,
  readTicks,
} from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
import { readQueues } from '@acp/queue';
import { collectDefaultMetrics, Gauge, Registry, register } from 'prom-client';
import { backupFolder, readDisk } from './disk.ts';
import { soon } from './soon.ts';
import type { Readiness, ReadinessOptions } from './readiness.ts';

interface MetricsSources extends ReadinessOptions {
  config: Config;
  database: Database;
  readiness: Readiness;
  /** Number of open live streams of this process; absent in a scheduler. */
  streams?: () => number;
}

type Collect = (self: Gauge) => void | Promise<void>;
type Define = (name: string, help: string, collect: Collect, labels?: string[]) => void;

/** Several scrapers, and several series of one scrape, share a query's result for this long. */
const SHARED_MS = 5000;

/**
 * Node's own series are in it as well, but for three gauges that are named as if they were counters: they are the sums of others.
 * @returns the content type, and a function that renders the text for each scrape
 */
export function createMetrics(sources: MetricsSources): { contentType: string; text(): Promise<string> } {
  const own = new Registry();
  collectDefaultMetrics({ register: own, prefix: 'service_' });
  for (const what of ['handles', 'requests', 'resources'])
    own.removeSingleMetric(`service_nodejs_active_${what}_total`);
  const define: Define = (name, help, collect, labelNames = []) => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [own],
      async collect() {
        gauge.reset();
        // A gauge without labels would be reported as 0 while its source is unavailable.
        if (labelNames.length === 0) gauge.remove();
        await soon(Promise.resolve(collect(gauge)), sources.check_ms);
      },
    });
  };
  defineSpecified(define, sources);
  defineProcess(define, sources);
  defineInstance(define, sources);
  return {
    contentType: own.contentType,
    // The counters of this process's tiers are in the process's own registry.
    text: async () => Registry.merge([own, register]).metrics(),
  };
}

function defineSpecified(define: Define, { config, database, readiness }: MetricsSources): void {
  const disk = async () => readDisk(backupFolder(config));
  define('service_disk_used_pct', 'Usage of the root file system in percent', async (self) =>
    self.set((await disk()).pct_used),
  );
  define('service_disk_free_bytes', 'Free bytes of the root file system', async (self) =>
    self.set((await disk()).free_bytes),
  );
  define('service_journal_bytes', 'Bytes of the system journal', async (self) =>
    self.set((await disk()).journal_bytes),
  );
  define(
    'service_backup_last_success_timestamp_seconds',
    'When the last backup that succeeded had begun; 0: none yet',
    async (self) => {
      const last = await lastSuccessfulBackup(database.db);
      self.set(last ? last.started_at.getTime() / 1000 : 0);
    },
  );
  define(
    'service_readyz_check_duration_ms',
    'Recent durations of the readiness checks',
    async (self) => {
      await readiness.timePing();
      for (const [check, timing] of Object.entries(readiness.timings.all())) {
        self.set({ check, pct: '50' }, timing.p50_ms);
        self.set({ check, pct: '95' }, timing.p95_ms);
        self.set({ check, pct: '99' }, timing.p99_ms);
      }
    },
    ['check', 'pct'],
  );
  define(
    'service_readyz_check_samples',
    'Samples behind the durations',
    (self) => {
      for (const [check, { count }] of Object.entries(readiness.timings.all())) self.set({ check }, count);
    },
    ['check'],
  );
}

/** Resource usage of the process. */
function defineProcess(
  define: Define,
  { database, streams, pool = database.poolStats }: MetricsSources,
): void {
  define('service_database_connections', 'Connections of the pool in use', (self) =>
    self.set(pool().acquired),
  );
  define('service_database_connections_max', 'Connections that the pool may have', (self) =>
    self.set(pool().max),
  );
  define('service_database_waiting', 'Requests that wait for a connection of the pool', (self) =>
    self.set(pool().waiting),
  );
  define('service_database_statements', 'Statements sent since the start', (self) =>
    self.set(database.statements()),
  );
  if (streams) define('service_live_streams', 'Open live streams', (self) => self.set(streams()));
}

/** Series from the database, the same in every process: aggregate them by maximum, not by sum. */
function defineInstance(define: Define, { database }: MetricsSources): void {
  const figures = shared(async () => readFigures(database.db));
  const queues = shared(async () => readQueues(database.db));
  const ticks = shared(async () => readTicks(database.db));
  const one = (name: string, help: string, of: keyof InstanceFigures) =>
    define(name, help, async (self) => {
      const value = (await figures())[of];
      if (value !== null) self.set(value);
    });
  const two = (
    name: string,
    help: string,
    label: string,
    fields: Readonly<Record<string, keyof InstanceFigures>>,
  ) =>
    define(
      name,
      help,
      async (self) => {
        const found = await figures();
        for (const [value, field] of Object.entries(fields)) self.set({ [label]: value }, found[field] ?? 0);
      },
      [label],
    );
  two('service_runs', 'Runs that wait and that are under way', 'status', {
    queued: 'runs_queued',
    running: 'runs_running',
  });
  one('service_runs_oldest_queued_seconds', 'How long the oldest queued run waits', 'oldest_queued_run_sec');
  two('service_remote_tasks', 'Tasks of remote workers', 'status', {
    queued: 'tasks_queued',
    claimed: 'tasks_claimed',
  });
  one('service_remote_workers_online', 'Remote workers that report', 'workers_online');
  one('service_schedulers', 'Schedulers that report', 'schedulers');
  one('service_companies', 'Companies', 'companies');
  one('service_messages_pending', 'Mails and messages to operators that wait', 'messages_pending');
  one(
    'service_webhook_deliveries_pending',
    'Deliveries of outbound webhooks that wait',
    'webhook_deliveries_pending',
  );
  one('service_license_ends_seconds', 'Seconds until license or trial end', 'license_ends_in_sec');
  two('service_alerts', 'Alerts that fire', 'level', { warning: 'alerts_warning', error: 'alerts_error' });
  defineChannels(define, database);
  define(
    'service_queue_jobs',
    'Jobs by queue: ready to be taken, being handled, failed for good within a quarter of an hour',
    async (self) => {
      for (const { name, ready, active, failed } of await queues()) {
        self.set({ queue: name, state: 'ready' }, ready);
        self.set({ queue: name, state: 'active' }, active);
        self.set({ queue: name, state: 'failed' }, failed);
      }
    },
    ['queue', 'state'],
  );
  define(
    'service_worker_ticks',
    'Ticks of the background workers in the last ten to twenty minutes, and eleven at least, by outcome',
    async (self) => {
      for (const { worker, ticks: all, errors } of await ticks()) {
        self.set({ worker, outcome: 'ok' }, all - errors);
        self.set({ worker, outcome: 'error' }, errors);
      }
    },
    ['worker', 'outcome'],
  );
}

function defineChannels(define: Define, database: Database): void {
  const figures = shared(async () => readChannelFigures(database.db));
  define(
    'service_channels',
    'Channels that are switched on, by how their connection is',
    async (self) => {
      for (const { kind, connected, connecting, failing, refused } of await figures())
        for (const [status, count] of Object.entries({ connected, connecting, failing, refused }))
          self.set({ kind, status }, count);
    },
    ['kind', 'status'],
  );
  define(
    'service_channel_messages_pending',
    'Messages of channels that wait to be sent',
    async (self) => {
      for (const { kind, pending } of await figures()) self.set({ kind }, pending);
    },
    ['kind'],
  );
}

/** Caches the result for a few seconds and shares the pending call; failures are not cached. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { at: number; answer: Promise<T> } | undefined;
  return async () => {
    if (last === undefined || performance.now() - last.at > SHARED_MS) {
      const answer = read();
      last = { at: performance.now(), answer };
      answer.catch(() => (last = undefined));
    }
    return last.answer;
  };
}
