import { describe, expect, it } from '@jest/globals';
import { testDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { fixedForms, fixedStatement, savepoint, transaction } from './index.ts';

const WHERE = 5;

describe('a statement whose text is built once', () => {
  it('takes other values at each call, in each of their places, and what is always the same', async () => {
    const { database } = await testDatabase();
    let made = 0;
    const ask = fixedStatement(['low', 'list'], ({ low, list }) => {
      made += 1;
      return sql`select ${low}::int as low, ${low}::int + ${WHERE} as higher, ${list}::text[] as list, now() as at`;
    });
    const [one] = await ask(database.db, { low: 1, list: ['a', 'b'] });
    const [two] = await ask(database.db, { low: 2, list: [] });
    expect(one).toEqual({ low: 1, higher: 6, list: ['a', 'b'], at: expect.any(String) });
    expect(two).toMatchObject({ low: 2, higher: 7, list: [] });
    expect(made).toBe(1);
  });

  it('is part of the transaction that it is sent in, and of its savepoint', async () => {
    const { database } = await testDatabase();
    const setting = fixedStatement(
      ['value'],
      ({ value }) => sql`select set_config('my.place', ${value}, true)`,
    );
    const read = fixedStatement([], () => sql`select current_setting('my.place', true) as place`);
    const seen = await transaction(database, async (tx) => {
      await setting(tx, { value: 'outside' });
      await savepoint(tx, async (inner) => {
        await setting(inner, { value: 'inside' });
        throw new Error('undone');
      }).catch(() => undefined);
      return read(tx, {});
    });
    expect(seen).toEqual([{ place: 'outside' }]);
    expect((await read(database.db, {}))[0]?.place).not.toBe('outside');
  });

  it('has a text for each of its forms', async () => {
    const { database } = await testDatabase();
    const forms = fixedForms(['value']);
    const ask = async (form: 'up' | 'down') =>
      forms(database.db, form, { value: 1 }, ({ value }) =>
        form === 'up' ? sql`select ${value}::int + 1 as next` : sql`select ${value}::int - 1 as next`,
      );
    expect([await ask('up'), await ask('down'), await ask('up')]).toEqual([
      [{ next: 2 }],
      [{ next: 0 }],
      [{ next: 2 }],
    ]);
  });
});
