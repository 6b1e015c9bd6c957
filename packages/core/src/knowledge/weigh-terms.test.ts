import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { createCompany, databaseWithQueue, pagesRead } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { weighTerms } from './weigh-terms.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function companyWith(sources: number) {
  const company = await createCompany(database.db);
  await database.db.execute(sql`
    insert into knowledge_sources (company_id, source_type, source_id, chunked_revision, chunk_count)
    select ${company.id}, 'note', gen_random_uuid(), 1, 2 from generate_series(1, ${sources}::int)`);
  await database.db.execute(sql`vacuum analyze knowledge_sources`);
  return company;
}

it('counts the passages of a company each time, unless there are very many, whose number it remembers', async () => {
  const [large, small] = [await companyWith(12_000), await companyWith(10)];
  const pages = async ({ id }: { id: string }, term: string) =>
    pagesRead(database, async (db) => weighTerms(db, id, [term]));
  expect((await weighTerms(database.db, large.id, ['ship'])).passages).toBe(24_000);
  expect(await pages(large, 'boat')).toBeLessThan(50);
  expect((await weighTerms(database.db, large.id, ['ship'])).passages).toBe(24_000);
  expect((await weighTerms(database.db, small.id, ['ship'])).passages).toBe(20);
  await database.db.execute(sql`update knowledge_sources set chunk_count = 3 where company_id = ${small.id}`);
  expect((await weighTerms(database.db, small.id, ['ship'])).passages).toBe(30);
});

it('a word in far more passages than are counted is only looked for in a sample, a rarer one is counted exactly', async () => {
  const { id } = await createCompany(database.db);
  await database.db.execute(sql`
    insert into knowledge_sources (company_id, source_type, source_id, chunked_revision, chunk_count)
    values (${id}, 'note', gen_random_uuid(), 1, 9000)`);
  // In all, in two thirds, in a third and in 150.
  await database.db.execute(sql`
    insert into knowledge_chunks (source_key, company_id, ordinal, heading, text)
    select s.id, s.company_id, n, '', 'office' || case when n % 3 < 2 then ' harbour' else ' lighthouse' end
      || case when n % 60 = 0 then ' ferry' else '' end
    from knowledge_sources s, generate_series(1, 9000) n where s.company_id = ${id}`);
  await database.db.execute(sql`vacuum analyze knowledge_chunks`);

  const { weighed, read, sent } = await transaction(database, async (tx) => {
    await tx.execute(sql`select`);
    const before = database.statements();
    const { terms } = await weighTerms(tx, id, ['office', 'harbour', 'lighthouse', 'ferry', 'absent']);
    const statements = database.statements() - before;
    const { rows } = await tx.execute<{ read: number }>(sql`
      select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = 'knowledge_chunks'`);
    return { weighed: terms, read: rows[0]!.read, sent: statements };
  });
  const found = Object.fromEntries(weighed.map((each) => [each.term, each.found]));
  expect(found).toMatchObject({ office: 9000, ferry: 150 });
  expect(found).not.toHaveProperty('absent');
  expect(Math.abs(found['harbour']! - 6000)).toBeLessThan(1200);
  expect(Math.abs(found['lighthouse']! - 3000)).toBeLessThan(1200);
  expect(sent).toBe(1);
  // The sample, and those counted of `lighthouse` and `ferry`.
  expect(read).toBeLessThanOrEqual(400 + 2000 + 150);
});
