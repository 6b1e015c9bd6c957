import { beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { integer, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { type Database, newestFirst, type Page, PAGE_BYTES, type PageRequest, withinBytes } from './index.ts';

const letters = pgTable('letters', {
  id: uuid().primaryKey().defaultRandom(),
  number: integer().notNull(),
  body: text().notNull(),
  created_at: timestamp({ withTimezone: true, mode: 'date' }).notNull().defaultNow(),
});

let database: Database;
beforeAll(async () => {
  ({ database } = await testDatabase());
  await database.db.execute(sql`create table letters (id uuid primary key default gen_random_uuid(),
    number int not null, body text not null, created_at timestamptz not null default now())`);
});

async function write(count: number, bytes: number): Promise<void> {
  await database.db.execute(sql`truncate letters`);
  await database.db.execute(sql`insert into letters (number, body, created_at)
    select n, repeat('x', ${bytes}::int), now() - make_interval(secs => n) from generate_series(1, ${count}::int) n`);
}

async function read(request: PageRequest = {}): Promise<Page<number>> {
  const plan = newestFirst(letters.created_at, letters.id, request, null);
  const rows = database.db
    .select()
    .from(letters)
    .where(plan.where)
    .orderBy(...plan.order)
    .limit(plan.limit);
  const place = ({ created_at, id }: { created_at: Date; id: string }) => ({ at: created_at, id });
  return plan.read(database.db, rows, place, ({ number, body }) => {
    expect(body).toMatch(/^x*$/);
    return number;
  });
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('a list without a limit', () => {
  it('of many short rows stops at a thousand, and goes on by its cursor', async () => {
    await write(1200, 10);
    const first = await read();
    expect(first.items).toEqual(numbers(1, 1000));
    expect(await read({ cursor: first.next_cursor! })).toEqual({
      items: numbers(1001, 1200),
      next_cursor: null,
    });
  });

  it('of long rows stops where an answer is full, however well they compress, whatever limit is asked for', async () => {
    const each = 1_000_000;
    await write(12, each);
    for (const request of [{}, { limit: 200 }]) {
      const pages: number[][] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: Page<number> = await read({ ...request, ...(cursor === undefined ? {} : { cursor }) });
        pages.push(page.items);
        cursor = page.next_cursor;
      }
      expect(pages.flat()).toEqual(numbers(1, 12));
      for (const page of pages) expect((page.length - 1) * each).toBeLessThan(PAGE_BYTES);
    }
  });

  it('whose single row is longer than an answer has it all the same', async () => {
    await write(2, PAGE_BYTES + 1);
    const first = await read();
    expect(first.items).toEqual([1]);
    expect(await read({ cursor: first.next_cursor! })).toEqual({ items: [2], next_cursor: null });
  });

  it('of hand-written SQL is bounded alike', async () => {
    await write(12, 1_000_000);
    const statement = sql`select number, body from letters order by number`;
    const { rows } = await database.db.execute(withinBytes(statement, ['body']));
    expect(rows.map(({ number, more }) => [number, more])).toEqual(numbers(1, 5).map((n) => [n, true]));
  });
});

describe('a page of a list', () => {
  it.each([
    ['newest first', sql`created_at desc nulls last, id desc nulls last`],
    ['oldest first', sql`created_at, id`],
  ] as const)(
    'is read in the order of its index and not sorted, where that goes %s',
    async (index, columns) => {
      await write(3000, 1);
      await database.db.execute(sql`create index letters_order on letters (${columns})`);
      await database.db.execute(sql`analyze letters`);
      const plan = newestFirst(letters.created_at, letters.id, {}, 50, index);
      const { rows } = await database.db.execute(
        sql`explain select * from letters order by ${sql.join(plan.order, sql`, `)} limit ${plan.limit}`,
      );
      await database.db.execute(sql`drop index letters_order`);
      const steps = rows.map((row) => Object.values(row).join()).join(' ');
      expect(steps).toContain('letters_order');
      expect(steps).not.toContain('Sort');
    },
  );
});
