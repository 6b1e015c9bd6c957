/** Embeddings as they are stored and compared. */
import type { Provider } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { createHash } from 'node:crypto';
import { keepNear, type Near, nearest } from './near-vectors.ts';
import { bytesOf, signsOf, type StoredVector, vectorOf } from './vector-bytes.ts';

const { knowledge_embeddings, knowledge_vectors } = schema;

/** Where neither provider nor company says which. */
const DEFAULT_MODEL = 'text-embedding-3-small';

/** What a question is compared with: only vectors of its space. */
export interface QuestionVector {
  space: string;
  /** Of length 1. */
  vector: Float32Array;
}

export function embeddingModel({ embedding_model }: Pick<Provider, 'embedding_model'>): string {
  return embedding_model?.trim() || DEFAULT_MODEL;
}

/** Names endpoint and model: vectors of two spaces can't be compared. A UUID, though not a random one. */
export function spaceOf(provider: Pick<Provider, 'adapter_type' | 'base_url' | 'embedding_model'>): string {
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
/** The nearest by signs are compared exactly. */
const CANDIDATES = 200;
const OF_VECTORS = 50;
/** What is less like the question is not about it, whatever the model. */
const LEAST_LIKENESS = 0.15;
/** Of the likeness of the best. */
const LEAST_SHARE = 0.5;

/** Of a company with fewer, comparing all signs takes less time than the index, which others share, and misses none. */
const FEW = 10_000;

/**
 * Ids of passages that mean nearly what the question does, best first.
 * @param passages how many the company has
 */
export async function byMeaning(
  tx: Tx,
  company_id: string,
  asked: QuestionVector,
  passages: number,
): Promise<string[]> {
  const indexed = passages < FEW ? undefined : await nearest(tx, company_id, asked, OF_VECTORS);
  // Where the index has given up among the passages of others, the signs are compared.
  const likely =
    indexed !== undefined && indexed.length >= OF_VECTORS
      ? indexed
      : await byBitVectors(tx, company_id, asked);
  const least = Math.max(LEAST_LIKENESS, LEAST_SHARE * (likely[0]?.likeness ?? 0));
  return likely
    .filter(({ likeness }) => likeness >= least)
    .slice(0, OF_VECTORS)
    .map(({ id }) => id);
}

async function byBitVectors(tx: Tx, company_id: string, { space, vector }: QuestionVector): Promise<Near[]> {
  const signs = signsOf(vector);
  const { rows } = await tx.execute<{ id: string; embedding: Buffer }>(sql`
    with near as materialized (
      select chunk_id from knowledge_vectors
      where company_id = ${company_id} and space = ${space}::uuid and length(signs) = ${signs.length}
      order by bit_count(signs # ${signs}::varbit) limit ${CANDIDATES}
    )
    select v.chunk_id as id, v.embedding from near join knowledge_vectors v on v.chunk_id = near.chunk_id`);
  return rows
    .map(({ id, embedding }) => ({ id, likeness: cosine(vector, vectorOf(embedding)) }))
    .toSorted((a, b) => b.likeness - a.likeness);
}

/** The space of the company's latest vectors; null: there are none, and no question has to be embedded. */
export async function vectorSpace(tx: Tx, company_id: string): Promise<string | null> {
  const { rows } = await tx.execute<{ space: string | null }>(
    sql`select space from ${knowledge_embeddings} where company_id = ${company_id}`,
  );
  return rows[0]?.space ?? null;
}

/** Of passages that are still there. */
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
