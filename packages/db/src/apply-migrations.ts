import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { isLockTimeout } from './errors.ts';
import type { Tx } from './tx.ts';

/** Whoever waits for a table keeps all who come later from it: rather give up, and come again. */
const LOCK_TIMEOUT_MS = 2000;
const RETRY_MS = 500;
const TRIES = 100;

/**
 * Applies the folder's migrations that are younger than the last applied one, each in a transaction of its own with its line
 * in the journal: others work in the same database meanwhile. One that says `concurrently` runs without a transaction, for
 * PostgreSQL wants it so; cut off, it runs again from its start. In an empty database nobody waits, and all go at once.
 */
export async function applyMigrations(client: Client, folder: string): Promise<void> {
  const db: Tx = drizzle(client);
  await db.execute(sql`create schema if not exists drizzle`);
  await db.execute(
    sql`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`,
  );
  const { rows } = await db.execute<{ last: string | null }>(
    sql`select max(created_at) as last from drizzle.__drizzle_migrations`,
  );
  const last = rows[0]?.last ?? null;
  const pending = readMigrationFiles({ migrationsFolder: folder }).filter(
    ({ folderMillis }) => folderMillis > Number(last),
  );
  if (last === null) {
    await db.transaction(async (tx) => {
      for (const migration of pending) await apply(tx, migration, asIfAlone);
    });
    return;
  }
  for (const migration of pending)
    await (isConcurrent(migration) ? applyConcurrently(db, migration) : applyPatiently(db, migration));
}

const CONCURRENTLY = /^(\s*(?:create\s+(?:unique\s+)?|drop\s+)index\s+)concurrently\b/im;

const isConcurrent = (migration: MigrationMeta): boolean =>
  migration.sql.some((statement) => CONCURRENTLY.test(statement));

const asIs = (statement: string): string => statement;
/** Without rows there is nothing to wait for, and it may stand in a transaction. */
const asIfAlone = (statement: string): string => statement.replace(CONCURRENTLY, '$1');

async function apply(tx: Tx, migration: MigrationMeta, as: (statement: string) => string): Promise<void> {
  for (const statement of migration.sql) await tx.execute(sql.raw(as(statement)));
  await tx.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${migration.hash}, ${migration.folderMillis})`,
  );
}

async function applyPatiently(db: Tx, migration: MigrationMeta): Promise<void> {
  for (let left = TRIES; ; left -= 1) {
    try {
      await db.transaction(async (tx) => {
        await tx.execute(sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`));
        await apply(tx, migration, asIs);
      });
      return;
    } catch (err) {
      if (left === 0 || !isLockTimeout(err)) throw err;
      await delay(RETRY_MS);
    }
  }
}

/** It stops nobody, so it may wait. */
async function applyConcurrently(db: Tx, migration: MigrationMeta): Promise<void> {
  for (const statement of migration.sql) {
    const name = /\bindex\s+concurrently\s+if\s+not\s+exists\s+"?(\w+)"?/i.exec(statement)?.[1];
    // Of an attempt that was cut off an index is left that nobody may use.
    if (name !== undefined && (await isInvalid(db, name)))
      await db.execute(sql`drop index concurrently ${sql.identifier(name)}`);
    await db.execute(sql.raw(statement));
  }
  await apply(db, { ...migration, sql: [] }, asIs);
}

async function isInvalid(db: Tx, name: string): Promise<boolean> {
  const { rows } = await db.execute(
    sql`select from pg_index where indexrelid = to_regclass(${name}) and not indisvalid`,
  );
  return rows.length > 0;
}
