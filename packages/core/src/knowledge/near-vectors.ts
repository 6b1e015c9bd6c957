/**
 * The vector index on servers with pgvector: a table next to `knowledge_vectors` in a schema of its own, which an operator
 * creates and removes (`ctl db vectors`). It is not part of a release's schema or a backup: all of it can be computed from
 * `knowledge_vectors`, and without it the search compares signs.
 */
import type { Tx } from '@acp/db';
import { said, unavailable, unsupported } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { type StoredVector, vectorOf } from './vector-bytes.ts';

const SCHEMA = sql.raw('knowledge_near');
const TABLE = sql.raw('knowledge_near.passages');
/** Older releases have indexes that break and overflow. */
const LEAST_VERSION = [0, 8, 4] as const;
/** Maximum for an index on half-precision vectors. */
const MOST_DIMENSIONS = 4000;
const BATCH = 500;

/** Name of the index on vectors with this many dimensions. */
const indexName = (dimensions: number): string => `passages_hnsw_${dimensions}`;

interface VectorIndexState {
  /** The version that the server could install; null: none. */
  available: string | null;
  installed: string | null;
  enabled: boolean;
  /** Stored vectors by their number of dimensions; `indexed`: there is an index for them. */
  dimensions: { dimensions: number; vectors: number; indexed: boolean }[];
  /** Number of vectors missing from the index: it must be enabled again. */
  missing: number;
}

export async function vectorIndexState(tx: Tx): Promise<VectorIndexState> {
  const { rows } = await tx.execute<{
    available: string | null;
    installed: string | null;
    enabled: boolean;
  }>(sql`
    select (select default_version from pg_available_extensions where name = 'vector') as available,
      (select extversion from pg_extension where extname = 'vector') as installed,
      to_regclass('knowledge_near.passages') is not null as enabled`);
  const state = rows[0]!;
  const { rows: counted } = await tx.execute<{ dimensions: number; vectors: number }>(sql`
    select length(signs) as dimensions, count(*)::int as vectors from knowledge_vectors group by 1 order by 1`);
  const dimensions = [];
  for (const each of counted)
    dimensions.push({ ...each, indexed: state.enabled && (await isIndexed(tx, each.dimensions)) });
  return { ...state, dimensions, missing: state.enabled ? await countMissing(tx) : 0 };
}

/**
 * Creates the extension, the table and an index for each number of dimensions in use, unless they exist; searches and writes
 * continue in the meantime. Must run outside of a transaction, on a connection whose maintenance memory may be raised.
 * @throws unsupported if the server has no pgvector, or a version that is too old
 */
export async function enableVectorIndex(tx: Tx): Promise<void> {
  const { available, installed } = await vectorIndexState(tx);
  const version = installed ?? available;
  if (version === null)
    throw unsupported('the server has no pgvector: install it there first (0.8.4 or newer)');
  if (!isRecent(version)) throw unsupported(said`pgvector ${version} is too old: 0.8.4 or newer is needed`);
  if (installed === null) await tx.execute(sql`create extension vector`);
  await tx.execute(sql`create schema if not exists ${SCHEMA}`);
  await tx.execute(sql`
    create table if not exists ${TABLE} (
      chunk_id uuid primary key references knowledge_vectors on delete cascade,
      company_id uuid not null, space uuid not null, near halfvec not null)`);
  await tx.execute(sql`select set_config('maintenance_work_mem', '512MB', false)`);
  await fillIn(tx);
  const { rows } = await tx.execute<{ dimensions: number }>(
    sql`select distinct vector_dims(near) as dimensions from ${TABLE}`,
  );
  for (const { dimensions } of rows) await makeIndex(tx, dimensions);
  // Vectors written before every process knew about the table.
  await fillIn(tx);
}

/** The extension stays: others may use it. */
export async function disableVectorIndex(tx: Tx): Promise<void> {
  await tx.execute(sql`drop schema if exists ${SCHEMA} cascade`);
}

function isRecent(version: string): boolean {
  const numbers = version.split('.').map(Number);
  for (const [at, least] of LEAST_VERSION.entries()) {
    const number = numbers[at] ?? 0;
    if (number !== least) return number > least;
  }
  return true;
}

async function makeIndex(tx: Tx, dimensions: number): Promise<void> {
  if (dimensions > MOST_DIMENSIONS || (await isIndexed(tx, dimensions))) return;
  const [name, length] = [sql.raw(indexName(dimensions)), sql.raw(String(dimensions))];
  // An invalid index of an interrupted attempt would be in the way.
  await tx.execute(sql`drop index if exists ${SCHEMA}.${name}`);
  await tx.execute(sql`
    create index concurrently ${name} on ${TABLE}
    using hnsw ((near::halfvec(${length})) halfvec_cosine_ops) where vector_dims(near) = ${length}`);
  if (!(await isIndexed(tx, dimensions))) throw unavailable('the index could not be completed: try again');
}

async function isIndexed(tx: Tx, dimensions: number): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from pg_index where indexrelid = to_regclass(${`knowledge_near.${indexName(dimensions)}`}) and indisvalid`);
  return rows.length > 0;
}

async function countMissing(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<{ missing: number }>(sql`
    select count(*)::int as missing from knowledge_vectors v left join ${TABLE} n on n.chunk_id = v.chunk_id
    where n.chunk_id is null`);
  return rows[0]!.missing;
}

async function fillIn(tx: Tx): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const { rows } = await tx.execute<{ chunk_id: string; embedding: Buffer }>(sql`
      select v.chunk_id, v.embedding from knowledge_vectors v left join ${TABLE} n on n.chunk_id = v.chunk_id
      where n.chunk_id is null and v.chunk_id > ${after}::uuid order by v.chunk_id limit ${BATCH}`);
    if (rows.length === 0) return;
    await insertNear(
      tx,
      rows.map(({ chunk_id, embedding }) => ({ chunk_id, vector: vectorOf(embedding) })),
    );
    after = rows.at(-1)!.chunk_id;
  }
}

/** Inserts vectors whose rows are in `knowledge_vectors`. */
async function insertNear(tx: Tx, vectors: readonly StoredVector[]): Promise<void> {
  const rows = vectors.map(({ chunk_id, vector }) => sql`(${chunk_id}::uuid, ${textOf(vector)}::halfvec)`);
  await tx.execute(sql`
    insert into ${TABLE} (chunk_id, company_id, space, near)
    select v.chunk_id, v.company_id, v.space, fresh.near
    from (values ${sql.join(rows, sql`, `)}) as fresh (chunk_id, near)
    join knowledge_vectors v on v.chunk_id = fresh.chunk_id order by v.chunk_id for key share of v
    on conflict (chunk_id) do update set space = excluded.space, near = excluded.near`);
}

/** Adds what was just stored to the index, if there is one. */
export async function keepNear(tx: Tx, vectors: readonly StoredVector[]): Promise<void> {
  const { rows } = await tx.execute(sql`select where to_regclass('knowledge_near.passages') is not null`);
  if (rows.length > 0) await insertNear(tx, vectors);
}

/** The vector in pgvector's text format. */
function textOf(vector: Float32Array): string {
  return `[${vector.join(',')}]`;
}

/** Candidates that the index considers: more takes longer and finds slightly more. */
const EF_SEARCH = '100';

export interface Near {
  id: string;
  /** Cosine similarity. */
  likeness: number;
}

/**
 * The nearest passages of a company by the index, best first. The index covers all companies: it continues until it has found
 * enough of this one's, or gives up early. Undefined if there is no index for such vectors.
 * @param among condition on the row `v` of a vector
 */
export async function nearest(
  tx: Tx,
  company_id: string,
  { space, vector }: { space: string; vector: Float32Array },
  limit: number,
  among = sql`true`,
): Promise<Near[] | undefined> {
  if (!(await isIndexed(tx, vector.length))) return undefined;
  const length = sql.raw(String(vector.length));
  // The settings take effect before the index is read.
  const { rows } = await tx.execute<Near & Record<string, unknown>>(sql`
    with asked as materialized (
      select ${textOf(vector)}::halfvec(${length}) as q, set_config('hnsw.iterative_scan', 'strict_order', true),
        set_config('hnsw.ef_search', ${EF_SEARCH}, true)
    )
    select chunk_id as id, 1 - (near::halfvec(${length}) <=> (select q from asked)) as likeness from ${TABLE} v
    where company_id = ${company_id} and space = ${space}::uuid and vector_dims(near) = ${length} and ${among}
    order by near::halfvec(${length}) <=> (select q from asked) limit ${limit}`);
  return rows;
}
