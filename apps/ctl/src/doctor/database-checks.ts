/** Checks of PostgreSQL and of the instance's data in it. */
import { setTimeout as delay } from 'node:timers/promises';
import { listSchedulers, listUsers, readTicks, unknownEncryptionKeys } from '@acp/core';
import { createListener, isRestoring, migrationStatus } from '@acp/db';
import { Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import type { CommandContext } from '../command.ts';
import { type Check, well, wrong } from './finding.ts';

const MIN_POSTGRES = 140_000;
const LISTEN_TIMEOUT_MS = 5000;
const MOST_DRIFT_SEC = 5;
const DIRECT =
  'point DATABASE_DIRECT_URL at PostgreSQL itself, not at a pooler, and at the same database as DATABASE_URL';
/**
 * What a process takes at most: per tier a pool, and one connection each for LISTEN, notifications and issue numbers; a process of
 * schedulers alone two more for its health.
 */
const mostConnections = (pool: number) => ({ web: pool + 3, scheduler: pool + 5, all: 2 * (pool + 3) });

export const databaseChecks: Record<string, Check> = {
  database: {
    mend: 'start PostgreSQL, or correct DATABASE_URL',
    run: async ({ database }) => {
      const { rows } = await database.db.execute<{ version: string; number: number }>(
        sql`select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
      );
      const { version, number } = rows[0]!;
      const detail = `PostgreSQL ${version}`;
      return number >= MIN_POSTGRES ? well(detail) : wrong(detail, 'use PostgreSQL 14 or newer');
    },
  },
  clock: {
    after: ['database'],
    mend: 'synchronise the clocks of this machine and the database server',
    run: async ({ database }) => {
      const before = Date.now();
      const { rows } = await database.db.execute<{ now: number }>(
        sql`select extract(epoch from clock_timestamp())::float8 as now`,
      );
      const drift = Math.abs(rows[0]!.now - (before + Date.now()) / 2000);
      const detail = `${drift.toFixed(1)} s apart from the database’s`;
      // Timestamped signatures, tokens and sessions are checked against both clocks.
      return drift <= MOST_DRIFT_SEC
        ? well(detail)
        : wrong(detail, 'synchronise the clocks of this machine and the database server');
    },
  },
  connections: {
    after: ['database'],
    mend: 'see the detail',
    run: async ({ config, database }) => {
      const { rows } = await database.db.execute<{ most: number; used: number }>(sql`
        select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
          (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used`);
      const { most, used } = rows[0]!;
      const needed = mostConnections(config.database_pool_size)[config.role];
      const detail = `${used} of ${most} in use, each process takes at most ${needed}`;
      return most - used >= needed
        ? well(detail)
        : wrong(detail, 'raise max_connections, lower SERVICE_DATABASE_POOL_SIZE, or use a pooler');
    },
  },
  notifications: {
    after: ['database'],
    mend: DIRECT,
    run: async (context) =>
      (await notificationArrives(context))
        ? well('LISTEN and NOTIFY work')
        : wrong('a notification did not arrive', DIRECT),
  },
  schema: {
    after: ['database'],
    mend: 'run `npm run ctl -- db migrate`, or start the service',
    run: async ({ database }) => {
      const { applied, known, unknown, pending } = await migrationStatus(database.db);
      const detail = `${applied} of ${known} migrations applied, ${unknown} unknown`;
      if (unknown > 0) return wrong(detail, 'start the newer release that has migrated this database');
      if (await isRestoring(database.db))
        return wrong('the restore of a backup has not ended', 'run the same `ctl db restore` again');
      return pending === 0
        ? well(detail)
        : wrong(detail, 'run `npm run ctl -- db migrate`, or start the service');
    },
  },
  'sign-in': {
    after: ['schema'],
    mend: 'see the detail',
    run: async ({ database }) => {
      const admins = (await listUsers(database.db)).items.filter(
        (user) => user.is_active && user.instance_role === 'admin',
      );
      const detail = `${admins.length} active instance admins`;
      return admins.length > 0
        ? well(detail)
        : wrong(detail, 'open the /setup link in the log, or run `ctl users create --role admin`');
    },
  },
  'encryption key': {
    after: ['schema'],
    mend: 'see the detail',
    run: async ({ config, database }) => {
      const vault = new Vault(config.encryption_key, config.encryption_key_previous);
      const strange = await unknownEncryptionKeys(database.db, vault);
      if (strange.length > 0)
        return wrong(
          `not the key of this database: ${strange.join(', ')}`,
          'set the former key again, or list it in SERVICE_ENCRYPTION_KEY_PREVIOUS',
        );
      return vault.available
        ? well('set')
        : wrong(
            'no secret can be stored',
            'run `npm run ctl -- secrets make-key`, or set SERVICE_ENCRYPTION_KEY to the output of `openssl rand -hex 32`, and keep it',
          );
    },
  },
  schedulers: {
    after: ['schema'],
    mend: 'see the detail',
    run: async ({ database }) => {
      const workers = await readTicks(database.db);
      const alive = (await listSchedulers(database.db)).filter(({ reports }) => reports).length;
      const failing = workers.filter(({ ticks, errors }) => ticks > 10 && errors > ticks / 2);
      if (alive === 0)
        return wrong(
          'none has reported within a minute: no runs start',
          'start a process with SERVICE_ROLE=scheduler, or all',
        );
      return failing.length === 0
        ? well(`${alive} alive`)
        : wrong(
            `${alive} alive; failing: ${failing.map(({ worker }) => worker).join(', ')}`,
            'look for these workers’ errors in the schedulers’ logs',
          );
    },
  },
};

/** Through both addresses, so that it arrives only if they lead to the same database. */
async function notificationArrives({ database, direct_url, logger }: CommandContext): Promise<boolean> {
  const listener = createListener({ url: direct_url, logger, application_name: 'doctor' });
  const probe = `doctor-${process.pid}`;
  const late = new AbortController();
  const heard = new Promise<boolean>((resolve) => {
    listener.on('control', (items) => {
      if (items.includes(probe)) resolve(true);
    });
  });
  const tried = (async () => {
    await listener.ready();
    await database.db.execute(sql`select pg_notify('service_control', ${JSON.stringify([probe])})`);
    return heard;
  })();
  tried.catch(() => undefined);
  try {
    return await Promise.race([tried, delay(LISTEN_TIMEOUT_MS, false, { ref: false, signal: late.signal })]);
  } finally {
    late.abort();
    await listener.close();
  }
}
