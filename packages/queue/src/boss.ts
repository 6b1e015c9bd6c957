import { PgBoss } from 'pg-boss';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';

export const BOSS_SCHEMA = 'pgboss';

/**
 * client: no fetching, sweeping or migrating; consumer: also sweeps (expiry, deletion); migrator: installs and upgrades
 * pg-boss's own tables.
 */
type BossRole = 'client' | 'consumer' | 'migrator';

const DAY_SEC = 24 * 60 * 60;

/**
 * pg-boss on our own pool: its statements are counted with ours and survive a restart of PostgreSQL. It needs no session,
 * since each call acquires and releases its locks within itself. Its timers are set so that an idle service stays quiet.
 */
export function createBoss(database: Database, role: BossRole, logger?: Logger): PgBoss {
  const boss = new PgBoss({
    schema: BOSS_SCHEMA,
    // As an object, so that the pool prepares those that recur; fetches, which have no values, are planned for each table anew.
    db: { executeSql: async (text, values) => flatten(await database.pool.query({ text, values })) },
    supervise: role === 'consumer',
    migrate: role !== 'client',
    schedule: false,
    // Queues are only created by migrations, so the cache of their settings never goes stale.
    queueCacheIntervalSeconds: DAY_SEC,
    superviseIntervalSeconds: 60,
    monitorIntervalSeconds: 60,
    maintenanceIntervalSeconds: 300,
    // We use no dependent jobs, and upgrades leave no index builds behind once startup is over.
    flowIntervalSeconds: DAY_SEC,
    bamIntervalSeconds: 600,
  });
  boss.on('error', (err) => logger?.warn('the job queue reports an error', { error: err.message }));
  boss.on('warning', ({ message }) => logger?.warn('the job queue reports a warning', { warning: message }));
  return boss;
}

// A text with several statements returns several results.
function flatten(result: { rows: unknown[] } | { rows: unknown[] }[]): { rows: unknown[] } {
  return Array.isArray(result) ? { rows: result.flatMap(({ rows }) => rows) } : result;
}
