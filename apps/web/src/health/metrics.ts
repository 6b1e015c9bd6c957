/** `/metrics`: the series of the specification and those of the process, in the Prometheus text format. */
import { lastSuccessfulBackup } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { readDisk } from './disk.ts';
import type { Readiness } from './readiness.ts';

interface MetricsSources {
  config: Config;
  database: Database;
  readiness: Readiness;
  /** Open live streams of this process; absent in a scheduler. */
  streams?: () => number;
}

export function createMetrics({ config, database, readiness, streams }: MetricsSources): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'service_' });
  const gauge = (
    name: string,
    help: string,
    collect: (self: Gauge) => void | Promise<void>,
    labelNames: string[] = [],
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        await collect(this);
      },
    });
  gauge('service_disk_used_pct', 'Usage of the root file system in percent', async (self) =>
    self.set((await readDisk(config.home)).pct_used),
  );
  gauge('service_disk_free_bytes', 'Free bytes of the root file system', async (self) =>
    self.set((await readDisk(config.home)).free_bytes),
  );
  gauge('service_journal_bytes', 'Bytes of the system journal', async (self) =>
    self.set((await readDisk(config.home)).journal_bytes),
  );
  gauge(
    'service_backup_last_success_timestamp_seconds',
    'When the last backup that succeeded had begun; 0: none yet',
    async (self) => {
      const last = await lastSuccessfulBackup(database.db);
      self.set(last ? last.started_at.getTime() / 1000 : 0);
    },
  );
  gauge(
    'service_readyz_check_duration_ms',
    'Recent durations of the readiness checks',
    (self) => {
      for (const [check, timing] of Object.entries(readiness.timings.all())) {
        self.set({ check, pct: '50' }, timing.p50_ms);
        self.set({ check, pct: '95' }, timing.p95_ms);
        self.set({ check, pct: '99' }, timing.p99_ms);
      }
    },
    ['check', 'pct'],
  );
  gauge(
    'service_readyz_check_samples',
    'Samples behind the durations',
    (self) => {
      for (const [check, { count }] of Object.entries(readiness.timings.all())) self.set({ check }, count);
    },
    ['check'],
  );
  gauge('service_database_connections', 'Connections of the pool in use', (self) =>
    self.set(database.poolStats().acquired),
  );
  if (streams) gauge('service_live_streams', 'Open live streams', (self) => self.set(streams()));
  return registry;
}
