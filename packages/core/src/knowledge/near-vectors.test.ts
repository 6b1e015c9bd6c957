/** The vector index. Most tests need a server with pgvector (TEST_DATABASE_URL); without it only its absence is tested. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { createCompany, testDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { disableVectorIndex, enableVectorIndex, nearest, vectorIndexState } from './near-vectors.ts';
import { byMeaning, insertVectors } from './vectors.ts';

let database: Database;
let available: string | null;
const space = '00000000-0000-4000-8000-000000000001';
const DIMENSIONS = 8;

beforeAll(async () => {
  ({ database } = await testDatabase());
  ({ available } = await vectorIndexState(database.db));
});

function unit(numbers: number[]): Float32Array {
  const norm = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / norm);
}
/** A vector rotated by this angle from the first axis towards the second. */
const vectorAt = (part: number) => unit([Math.cos(part), Math.sin(part), 0, 0, 0, 0, 0, 0]);
/** How many of the expected passages were found. */
const common = (found: readonly string[], ids: readonly string[]) =>
  found.filter((id) => ids.includes(id)).length;

/** Creates passages of a new company, with their vectors. @returns company and ids, nearest to the first axis first */
async function fill(count: number): Promise<{ company_id: string; ids: string[] }> {
  const { id: company_id } = await createCompany(database.db);
  const { rows } = await database.db.execute<{ id: string }>(sql`
    with source as (
      insert into knowledge_sources (company_id, source_type, source_id, chunked_revision, chunk_count)
      values (${company_id}, 'note', gen_random_uuid(), 1, ${count}) returning id
    )
    insert into knowledge_chunks (source_key, company_id, ordinal, heading, text)
    select source.id, ${company_id}, n, 'Heading', 'Text ' || n from source, generate_series(1, ${count}::int) n returning id`);
  const ids = rows.map(({ id }) => id);
  const vectors = ids.map((chunk_id, n) => ({ chunk_id, vector: vectorAt((1.5 * n) / count) }));
  await insertVectors(database.db, { company_id, space }, vectors);
  return { company_id, ids };
}
const asked = { space, vector: vectorAt(0) };

describe('without the index', () => {
  it('meanings are compared by their signs', async () => {
    const { company_id, ids } = await fill(20);
    expect(await nearest(database.db, company_id, asked, 5)).toBeUndefined();
    expect((await byMeaning(database.db, company_id, asked, 1_000_000))[0]).toBe(ids[0]);
  });

  it('a server without pgvector says what to install', async () => {
    if (available !== null) return;
    await expect(enableVectorIndex(database.db)).rejects.toThrow('0.8.4 or newer');
    expect(await vectorIndexState(database.db)).toMatchObject({
      installed: null,
      enabled: false,
      missing: 0,
    });
    await disableVectorIndex(database.db);
  });
});

describe('with pgvector', () => {
  it('the index finds a company’s own nearest, is kept in step, and goes without a trace', async () => {
    if (available === null) return;
    const { db } = database;
    const before = await fill(300);
    await enableVectorIndex(db);
    const state = await vectorIndexState(db);
    expect(state).toMatchObject({ enabled: true, missing: 0 });
    expect(state.dimensions.find(({ dimensions }) => dimensions === DIMENSIONS)?.indexed).toBe(true);
    // Other companies' passages are just as near, and too many for a single index scan.
    const others = await fill(2000);
    const found = await nearest(db, before.company_id, asked, 50);
    // The index is approximate.
    expect(
      common(
        found!.map(({ id }) => id),
        before.ids.slice(0, 50),
      ),
    ).toBeGreaterThan(35);
    expect(found![0]!.likeness).toBeCloseTo(1, 2);
    const of_others = await byMeaning(db, others.company_id, asked, 1_000_000);
    expect(common(of_others, others.ids.slice(0, 50))).toBeGreaterThan(35);

    // Changes and deletions also apply to the index; other spaces are not compared.
    const [first] = before.ids;
    await insertVectors(db, { company_id: before.company_id, space }, [
      { chunk_id: first!, vector: unit([0, 1, 0, 0, 0, 0, 0, 0]) },
    ]);
    await db.execute(sql`delete from knowledge_chunks where id = ${before.ids[1]}`);
    const after = await nearest(db, before.company_id, asked, 3);
    expect(after!.map(({ id }) => id)).not.toContain(before.ids[0]);
    expect(
      common(
        after!.map(({ id }) => id),
        before.ids.slice(2, 8),
      ),
    ).toBe(3);
    expect(await nearest(db, before.company_id, { ...asked, space: before.company_id }, 3)).toEqual([]);
    const other = { space, vector: unit([1, 2, 3]) };
    expect(await nearest(db, before.company_id, other, 3)).toBeUndefined();

    await enableVectorIndex(db);
    await disableVectorIndex(db);
    expect(await vectorIndexState(db)).toMatchObject({ enabled: false });
    expect((await byMeaning(db, others.company_id, asked, 1_000_000))[0]).toBe(others.ids[0]);
  });
});
