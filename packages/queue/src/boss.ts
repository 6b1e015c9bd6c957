import { PgBoss } from 'pg-boss';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';

export const BOSS_SCHEMA = 'pgboss';

/**
 * client: fetches nothing, sweeps nothing, migrates nothing; consumer: sweeps as well (expiry, deletion); migrator:
 * installs and upgrades pg-boss's own tables.
 */
type BossRole = 'client' | 'consumer' | 'migrator';

const DAY_SEC = 24 * 60 * 60;

/**
 * pg-boss on our own pool: its statements are counted with ours and survive a restart of PostgreSQL. It needs no
 * session: what it locks, it locks within one call. Its timers are set so that an idle service stays quiet.
 */
export function createBoss(database: Database, role: BossRole, logger?: Logger): PgBoss {
  const boss = new PgBoss({
    schema: BOSS_SCHEMA,
    db: { executeSql: async (text, values) => flatten(await database.pool.query(text, values)) },
    supervise: role === 'consumer',
    migrate: role !== 'client',
    schedule: false,
    // Queues are made by migrations only, so the cache of their settings has nothing to notice.
    queueCacheIntervalSeconds: DAY_SEC,
    superviseIntervalSeconds: 60,
    monitorIntervalSeconds: 60,
    maintenanceIntervalSeconds: 300,
    // We use no dependent jobs, and no upgrade leaves index builds behind for longer than a start.
    flowIntervalSeconds: DAY_SEC,
    bamIntervalSeconds: 600,
  });
  boss.on('error', (err) => logger?.warn('the job queue reports an error', { error: err.message }));
  boss.on('warning', ({ message }) => logger?.warn('the job queue warns', { warning: message }));
  return boss;
}

// Several statements in one text come back as several results.
function flatten(result: { rows: unknown[] } | { rows: unknown[] }[]): { rows: unknown[] } {
  return Array.isArray(result) ? { rows: result.flatMap(({ rows }) => rows) } : result;
}
