/** A backup is compared with the rows that name files: whoever adds such a column must say so in the list. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getTableColumns, getTableName } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { schema, storedFileTables } from '@acp/db';
import { cloneDatabase, type TestDatabase } from '@acp/testkit';

/** Texts called a key that name no file that has to be there. */
const others = [
  // Keys without a row, and bodies in passing, which the sweep deletes after an hour.
  'storage_orphans.storage_key',
  'commands.payload_key',
  'commands.result_key',
  'channel_outbox.dedupe_key',
  'heartbeat_runs.live_key',
  'passkeys.public_key',
];

let kit: TestDatabase;
beforeAll(async () => {
  kit = await cloneDatabase('stored_files');
});
afterAll(async () => kit.close());

describe('the list of tables that name files', () => {
  it('has each one with a text called a key, and no other', () => {
    const named = Object.values(schema)
      .filter((each) => each instanceof PgTable)
      .flatMap((table) =>
        Object.values(getTableColumns(table))
          .filter(({ name, columnType }) => columnType === 'PgText' && name.endsWith('_key'))
          .map(({ name }) => `${getTableName(table)}.${name}`),
      );
    const known = storedFileTables.map((table) => `${table}.storage_key`);
    expect(named.toSorted()).toEqual([...known, ...others].toSorted());
  });

  it('has each one whose keys become orphans with their rows, and no other', async () => {
    const { rows } = await kit.database.pool.query<{ name: string }>(
      `select relname as name from pg_trigger join pg_class c on c.oid = tgrelid
       where tgfoid = 'orphan_storage_key'::regproc order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual([...storedFileTables]);
  });
});
