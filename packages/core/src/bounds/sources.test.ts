import { expect, it } from '@jest/globals';
import { boundKinds } from '@acp/contract';
import { testDatabase } from '@acp/testkit';
import { getTableName } from 'drizzle-orm';
import { sources } from './sources.ts';

it('what a bound counts is found by an index that begins with its owner', async () => {
  const { database } = await testDatabase();
  const { rows } = await database.pool.query<{ tablename: string; indexdef: string }>(
    `select tablename, indexdef from pg_indexes where schemaname = 'public'`,
  );
  const lacking = boundKinds.filter((kind) => {
    const { owner, where = [] } = sources[kind];
    const indexes = rows.filter(
      ({ tablename, indexdef }) =>
        tablename === getTableName(owner.table) && new RegExp(`[(]${owner.name}[,)]`).test(indexdef),
    );
    // A partial index serves its part only.
    const whole = indexes.filter(({ indexdef }) => !indexdef.includes(' WHERE '));
    return whole.length === 0 && indexes.length < Math.max(where.length, 1);
  });
  expect(lacking).toEqual([]);
});
