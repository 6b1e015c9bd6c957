/** What a restore notes in the database before it changes anything else there, so that it can be repeated. */
import { RESTORE_NOTE } from '@acp/db';
import { conflict } from '@acp/kernel';
import type { Client } from 'pg';
import { listTables } from './tables.ts';

const LOCK = 'service-restore';
const [SCHEMA = ''] = RESTORE_NOTE.split('.');

/**
 * Reserves the database for this backup until the connection closes.
 * @param assertFree called unless a restore of this backup has begun
 * @throws conflict if it is not empty, belongs to the restore of another backup, or to one in progress
 */
export async function beginRestore(
  client: Client,
  backup_id: string,
  assertFree: () => Promise<void>,
): Promise<void> {
  const locks = await client.query<{ mine: boolean }>(
    'select pg_try_advisory_lock(hashtextextended($1, 0)) as mine',
    [LOCK],
  );
  if (locks.rows[0]?.mine !== true) throw conflict('a backup is being restored into this database already');
  const begun = await noted(client);
  if (begun === backup_id) return;
  // Its files may be mixed with those of the other one.
  if (begun !== null)
    throw conflict(
      `the restore of another backup (${begun}) was broken off here: restore that one again, or take an empty database`,
    );
  if ((await listTables(client)).length > 0)
    throw conflict(`the database ${client.database ?? ''} is not empty: restore into a new one`);
  await assertFree();
  await client.query('begin');
  await client.query(`create schema ${SCHEMA}`);
  await client.query(
    `create table ${RESTORE_NOTE} (backup_id text not null, begun_at timestamptz not null default now())`,
  );
  await client.query(`insert into ${RESTORE_NOTE} (backup_id) values ($1)`, [backup_id]);
  await client.query('commit');
}

/** Runs in the transaction of the rows: from its commit on the database is the instance's. */
export async function endRestore(client: Client): Promise<void> {
  await client.query(`drop table ${RESTORE_NOTE}`);
  await client.query(`drop schema ${SCHEMA}`);
}

/** The backup whose restore is unfinished. */
async function noted(client: Client): Promise<string | null> {
  const there = await client.query('select where to_regclass($1) is not null', [RESTORE_NOTE]);
  if (there.rows.length === 0) return null;
  const { rows } = await client.query<{ backup_id: string }>(`select backup_id from ${RESTORE_NOTE}`);
  return rows[0]?.backup_id ?? null;
}
