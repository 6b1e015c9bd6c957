import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { MigrationMeta } from 'drizzle-orm/migrator';
import type { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeadlock, isLockTimeout } from './errors.ts';
import type { Tx } from './tx.ts';
import { waitBriefly } from './wait-briefly.ts';

/**
 * A statement queued for a table lock blocks everyone behind it, so give up early and try again. A migration that already holds
 * a lock on one table may wait for somebody who waits for that one: then it must give up before PostgreSQL looks for deadlocks,
 * after a second by default, and picks the other as its victim.
 */
const LOCK_TIMEOUT_MS = 400;
const RETRY_MS = 500;
/** About six minutes. */
const TRIES = 400;

/**
 * Applies those of the migrations that are newer than the last applied one, each in its own transaction together with its
 * journal row, while others keep working in the same database. A migration that uses `concurrently` runs outside a
 * transaction, as PostgreSQL requires; if interrupted, it starts over. In an empty database all run in one go.
 */
export async function applyMigrations(client: Client, migrations: readonly MigrationMeta[]): Promise<void> {
  const db: Tx = drizzle(client);
  await db.execute(sql`create schema if not exists drizzle`);
  await db.execute(
    sql`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`,
  );
  const { rows } = await db.execute<{ last: string | null }>(
    sql`select max(created_at) as last from drizzle.__drizzle_migrations`,
  );
  const last = rows[0]?.last ?? null;
  const pending = migrations.filter(({ folderMillis }) => folderMillis > Number(last));
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
/** An empty table has nothing to wait for, so the statement may run inside a transaction. */
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
        await waitBriefly(tx, LOCK_TIMEOUT_MS);
        await apply(tx, migration, asIs);
      });
      return;
    } catch (err) {
      if (left === 0 || !(isLockTimeout(err) || isDeadlock(err))) throw err;
      await delay(RETRY_MS);
    }
  }
}

/** Blocks no one, so it may take its time. */
async function applyConcurrently(db: Tx, migration: MigrationMeta): Promise<void> {
  for (const statement of migration.sql) {
    const name = /\bindex\s+concurrently\s+if\s+not\s+exists\s+"?(\w+)"?/i.exec(statement)?.[1];
    // An interrupted attempt leaves an invalid index behind.
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
