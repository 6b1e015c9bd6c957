import { expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import { actors, createCompany, databaseWithQueue, meetAt } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createNote, findNote, updateNote } from '../notes/index.ts';
import { claimEmbedding, indexNextSource, passagesToEmbed, storeVectors, vectorSpaceOf } from './index.ts';

const { knowledge_chunks } = schema;

it('a source is split again while the vectors of what it was before are stored', async () => {
  const database = await databaseWithQueue();
  const company = await createCompany(database.db);
  const write = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
  const split = async () => write(async (tx) => indexNextSource(tx, null));
  const { id } = await write(async (tx) =>
    createNote(tx, actors.system, company.id, { title: 'Roses', body_markdown: 'They bloom in June.' }),
  );
  await split();
  const claim = (await write(claimEmbedding))!;
  const provider = { adapter_type: 'family_compat' as const, base_url: 'http://model', embedding_model: 'm' };
  const [before] = await passagesToEmbed(
    database.db,
    { company_id: company.id, space: vectorSpaceOf(provider) },
    null,
    1,
  );
  await write(async (tx) =>
    updateNote(tx, actors.system, (await findNote(tx, id))!, { body_markdown: 'They bloom in July.' }),
  );
  const vectors = [{ chunk_id: before!.id, vector: new Float32Array([1, 0]) }];
  const outcomes = await meetAt(
    database,
    sql`select from knowledge_chunks where id = ${before!.id} for update`,
    [
      async (tx) => indexNextSource(tx, null),
      async (tx) => storeVectors(tx, claim, provider as Parameters<typeof storeVectors>[2], vectors),
    ],
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  const now = await database.db
    .select()
    .from(knowledge_chunks)
    .where(eq(knowledge_chunks.company_id, company.id));
  expect(now.map(({ text }) => text)).toEqual(['They bloom in July.']);
});
