import { beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
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
