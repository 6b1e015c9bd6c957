import { expect, it } from '@jest/globals';
import { transaction } from '@acp/db';
import { createCompany, databaseWithQueue } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { searchKnowledge } from './index.ts';

/** Passages of words that no one searches for, ten per source; every 100th names a place. */
const FILLED = 2000;

it('a search reads the passages that it may rank, not those of its company or of others, also before the table is analysed', async () => {
  const database = await databaseWithQueue();
  const fill = async (count: number) => {
    const { id } = await createCompany(database.db);
    await database.db.execute(sql`
      insert into knowledge_sources (company_id, source_type, source_id, chunked_revision, chunk_count)
      select ${id}, 'note', gen_random_uuid(), 1, 10 from generate_series(1, ${count / 10}::int)`);
    await database.db.execute(sql`
      insert into knowledge_chunks (source_key, company_id, ordinal, heading, text)
      select id, company_id, n, 'Page ' || n, repeat('filler ', 60) || case when place % 100 = 0 then ' lighthouse' else '' end
      from (select s.id, company_id, n, row_number() over () as place from knowledge_sources s, generate_series(0, 9) n
        where company_id = ${id}) each`);
    return id;
  };
  await fill(FILLED);
  await database.db.execute(sql`analyze knowledge_chunks, knowledge_sources`);
  const fresh = await fill(FILLED);

  const { found, read } = await transaction(database, async (tx) => {
    const passages = await searchKnowledge(tx, fresh, { question: 'the lighthouse', limit: 50 });
    const { rows } = await tx.execute<{ read: number }>(sql`
      select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = 'knowledge_chunks'`);
    return { found: passages.length, read: rows[0]!.read };
  });
  expect(found).toBe(20);
  // Each passage is counted, ranked and shown.
  expect(read).toBeLessThan(100);
});

it('of words that are all in very many passages, those that have them together are found, and the rarest count most', async () => {
  const database = await databaseWithQueue();
  const { id } = await createCompany(database.db);
  await database.db.execute(sql`
    insert into knowledge_sources (company_id, source_type, source_id, chunked_revision, chunk_count)
    select ${id}, 'note', gen_random_uuid(), 1, case n when 0 then 1 else 2300 end from generate_series(0, 2) n`);
  // The wanted passage is inserted last.
  await database.db.execute(sql`
    insert into knowledge_chunks (source_key, company_id, ordinal, heading, text)
    select s.id, company_id, n, 'Page', 'the office ' || case when chunk_count = 1 then 'refund policy'
      when place = 1 then 'refund' else 'policy' end
    from (select *, row_number() over (order by chunk_count desc, id) as place from knowledge_sources where company_id = ${id}) s,
      lateral generate_series(1, chunk_count) n order by place, n`);
  const [best] = await searchKnowledge(database.db, id, { question: 'the refund policy' });
  expect(best?.text).toBe('the office refund policy');
});
