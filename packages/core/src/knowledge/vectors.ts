/** Storage and comparison of embeddings. */
import type { Provider } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { createHash } from 'node:crypto';
import { keepNear, type Near, nearest } from './near-vectors.ts';
import { bytesOf, signsOf, type StoredVector, vectorOf } from './vector-bytes.ts';

const { knowledge_embeddings, knowledge_vectors } = schema;

/** Used if neither provider nor company names one. */
const DEFAULT_MODEL = 'text-embedding-3-small';

/** A question's vector: only compared with vectors of the same space. */
export interface QuestionVector {
  space: string;
  /** Normalised to length 1. */
  vector: Float32Array;
}

export function embeddingModel({ embedding_model }: Pick<Provider, 'embedding_model'>): string {
  return embedding_model?.trim() || DEFAULT_MODEL;
}

/** Derived from endpoint and model: vectors of different spaces can't be compared. A UUID, though not a random one. */
export function vectorSpaceOf(
  provider: Pick<Provider, 'adapter_type' | 'base_url' | 'embedding_model'>,
): string {
  const named = JSON.stringify([provider.adapter_type, provider.base_url, embeddingModel(provider)]);
  const hex = createHash('sha256').update(named).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at]! * b[at]!;
  return sum;
}

// In passages.
/** Nearest passages by signs that are then compared exactly. */
const CANDIDATES = 200;
const OF_VECTORS = 50;
/** Less similar passages are unrelated to the question, whatever the model. */
const LEAST_LIKENESS = 0.15;
/** Minimum similarity as a share of the best passage's. */
const LEAST_SHARE = 0.5;

/** With fewer passages, comparing all signs is faster than the index, which others share, and misses none. */
const FEW = 10_000;

/**
 * Ids of passages whose meaning is close to the question's, best first.
 * @param passages how many the company has
 * @param among condition on the row `v` of a vector
 */
export async function byMeaning(
  tx: Tx,
  company_id: string,
  asked: QuestionVector,
  passages: number,
  among = sql`true`,
): Promise<string[]> {
  const indexed = passages < FEW ? undefined : await nearest(tx, company_id, asked, OF_VECTORS, among);
  // If the index gave up among other companies' passages, compare signs instead.
  const likely =
    indexed !== undefined && indexed.length >= OF_VECTORS
      ? indexed
      : await byBitVectors(tx, company_id, asked, among);
  const least = Math.max(LEAST_LIKENESS, LEAST_SHARE * (likely[0]?.likeness ?? 0));
  return likely
    .filter(({ likeness }) => likeness >= least)
    .slice(0, OF_VECTORS)
    .map(({ id }) => id);
}

async function byBitVectors(
  tx: Tx,
  company_id: string,
  { space, vector }: QuestionVector,
  among: SQL,
): Promise<Near[]> {
  const signs = signsOf(vector);
  const { rows } = await tx.execute<{ id: string; embedding: Buffer }>(sql`
    with near as materialized (
      select chunk_id from knowledge_vectors v
      where company_id = ${company_id} and space = ${space}::uuid and length(signs) = ${signs.length} and ${among}
      order by bit_count(signs # ${signs}::varbit) limit ${CANDIDATES}
    )
    select v.chunk_id as id, v.embedding from near join knowledge_vectors v on v.chunk_id = near.chunk_id`);
  return rows
    .map(({ id, embedding }) => ({ id, likeness: cosine(vector, vectorOf(embedding)) }))
    .toSorted((a, b) => b.likeness - a.likeness);
}

/** The space of the company's latest vectors; null: there are none, so questions need no embedding. */
export async function vectorSpace(tx: Tx, company_id: string): Promise<string | null> {
  const { rows } = await tx.execute<{ space: string | null }>(
    sql`select space from ${knowledge_embeddings} where company_id = ${company_id}`,
  );
  return rows[0]?.space ?? null;
}

/** Inserts the vectors of those passages that still exist. */
export async function insertVectors(
  tx: Tx,
  { company_id, space }: { company_id: string; space: string },
  vectors: readonly StoredVector[],
): Promise<void> {
  const rows = vectors.map(
    ({ chunk_id, vector }) => sql`(${chunk_id}::uuid, ${signsOf(vector)}::varbit, ${bytesOf(vector)}::bytea)`,
  );
  await tx.execute(sql`
    insert into ${knowledge_vectors} (chunk_id, company_id, space, signs, embedding)
    select k.id, k.company_id, ${space}::uuid, fresh.signs, fresh.embedding
    from (values ${sql.join(rows, sql`, `)}) as fresh (chunk_id, signs, embedding)
    join knowledge_chunks k on k.id = fresh.chunk_id and k.company_id = ${company_id}
    order by k.id for key share of k
    on conflict (chunk_id) do update set space = excluded.space, signs = excluded.signs, embedding = excluded.embedding`);
  await keepNear(tx, vectors);
}
