/** Which passages lack their embedding, and how the computing of them goes. Nothing here talks to a provider. */
import type { Provider } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { embeddingModel, insertVectors, spaceOf } from './vectors.ts';

const { knowledge_embeddings } = schema;

/** A scheduler that died is replaced after so long; each batch renews it. */
const LEASE_SEC = 180;

/** A company whose passages may lack embeddings, held by the caller for a while. */
export interface EmbeddingClaim {
  company_id: string;
  /** As text: exact. What comes later is another wish. */
  wanted_at: string;
  failures: number;
}

/** Of companies with something to do the one that has waited longest. */
export async function claimEmbedding(tx: Tx): Promise<EmbeddingClaim | undefined> {
  const { rows } = await tx.execute<EmbeddingClaim & Record<string, unknown>>(sql`
    update knowledge_embeddings e set next_attempt_at = now() + make_interval(secs => ${LEASE_SEC})
    from (
      select e.company_id from knowledge_embeddings e join companies c on c.id = e.company_id and c.deleted_at is null
      where e.wanted_at is not null and e.next_attempt_at <= now()
      order by e.next_attempt_at limit 1 for update of e skip locked
    ) due
    where e.company_id = due.company_id
    returning e.company_id, e.wanted_at::text, e.failures`);
  return rows[0];
}

export interface Passage {
  id: string;
  /** What is embedded: heading and text. */
  text: string;
}

/** Passages without a vector of the space, in the order of their ids. @param after where the batch before ended */
export async function passagesToEmbed(
  tx: Tx,
  { company_id, space }: { company_id: string; space: string },
  after: string | null,
  limit: number,
): Promise<Passage[]> {
  const { rows } = await tx.execute<Passage & Record<string, unknown>>(sql`
    select k.id, k.heading || E'\n\n' || k.text as text from knowledge_chunks k
    left join knowledge_vectors v on v.chunk_id = k.id and v.space = ${space}::uuid
    where k.company_id = ${company_id} and v.chunk_id is null and k.id > coalesce(${after}::uuid, '00000000-0000-0000-0000-000000000000')
    order by k.id limit ${limit}`);
  return rows;
}

/** Of one space all vectors have the same number of dimensions. */
export class OtherDimensions extends Error {}

/**
 * Stores a batch and renews the claim.
 * @throws OtherDimensions where the provider's vectors have become longer or shorter under the same name
 */
export async function storeVectors(
  tx: Tx,
  { company_id }: EmbeddingClaim,
  provider: Provider,
  vectors: readonly { chunk_id: string; vector: Float32Array }[],
): Promise<void> {
  const [space, dimensions] = [spaceOf(provider), vectors[0]?.vector.length ?? 0];
  const { rows } = await tx.execute<{ company_id: string }>(sql`
    update ${knowledge_embeddings} set space = ${space}::uuid, model = ${embeddingModel(provider)}, dimensions = ${dimensions},
      failures = 0, error = null, next_attempt_at = now() + make_interval(secs => ${LEASE_SEC})
    where company_id = ${company_id} and (space is distinct from ${space}::uuid or dimensions = ${dimensions})
    returning company_id`);
  if (rows.length === 0)
    throw new OtherDimensions(
      `the model ${embeddingModel(provider)} gives vectors of another length than before`,
    );
  await insertVectors(tx, { company_id, space }, vectors);
}

/** @param done nothing is left of what was wanted then; else others have their turn before it goes on */
export async function releaseEmbedding(tx: Tx, claim: EmbeddingClaim, done: boolean): Promise<void> {
  await tx.execute(sql`
    update ${knowledge_embeddings} set next_attempt_at = now(), failures = 0, error = null,
      wanted_at = case when ${done} and wanted_at = ${claim.wanted_at}::timestamptz then null else wanted_at end
    where company_id = ${claim.company_id}`);
}

const FIRST_PAUSE_SEC = 10;
const LONGEST_PAUSE_SEC = 3600;

/** It is tried again after a while that doubles, or from `retry_at` on; a change of a provider ends the wait. */
export async function postponeEmbedding(
  tx: Tx,
  { company_id, failures }: EmbeddingClaim,
  { error, retry_at }: { error: string; retry_at?: Date | null | undefined },
): Promise<void> {
  const pause = Math.min(FIRST_PAUSE_SEC * 2 ** Math.min(failures, 20), LONGEST_PAUSE_SEC);
  const until = retry_at
    ? sql`${retry_at.toISOString()}::timestamptz`
    : sql`now() + make_interval(secs => ${pause})`;
  await tx.execute(sql`
    update ${knowledge_embeddings} set next_attempt_at = ${until}, failures = failures + 1, error = ${error}
    where company_id = ${company_id}`);
}
