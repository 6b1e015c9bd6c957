/** Which passages lack embeddings, and the progress of computing them. Nothing here calls a provider. */
import type { Provider } from '@acp/contract';
import { schema, storedNow, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { embeddingModel, insertVectors, vectorSpaceOf } from './vectors.ts';

const { knowledge_embeddings } = schema;

/** A scheduler that died is replaced after this time; each batch renews the lease. */
const LEASE_SEC = 180;

/** A company whose passages may lack embeddings, leased by the caller. */
export interface EmbeddingClaim {
  company_id: string;
  /** As text, to be exact. A later time is a new request. */
  wanted_at: string;
  failures: number;
}

/** Claims the company that has waited longest, among those with something to do; those in the trash are put off by an hour. */
export async function claimEmbedding(tx: Tx): Promise<EmbeddingClaim | undefined> {
  const { rows } = await tx.execute<EmbeddingClaim & Record<string, unknown>>(sql`
    with put_off as (
      update knowledge_embeddings e set next_attempt_at = now() + interval '1 hour'
      from companies c where c.id = e.company_id and c.deleted_at is not null
        and e.wanted_at is not null and e.next_attempt_at <= ${storedNow}
    )
    update knowledge_embeddings e set next_attempt_at = now() + make_interval(secs => ${LEASE_SEC})
    from (
      select e.company_id from knowledge_embeddings e join companies c on c.id = e.company_id and c.deleted_at is null
      where e.wanted_at is not null and e.next_attempt_at <= ${storedNow}
      order by e.next_attempt_at limit 1 for update of e skip locked
    ) due
    where e.company_id = due.company_id
    returning e.company_id, e.wanted_at::text, e.failures`);
  return rows[0];
}

export interface Passage {
  id: string;
  /** The text to embed: heading and text. */
  text: string;
}

/** Passages without a vector of the space, ordered by id. @param after the end of the previous batch */
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

/** All vectors of a space must have the same number of dimensions. */
export class OtherDimensions extends Error {}

/**
 * Stores a batch and renews the claim.
 * @throws OtherDimensions if the provider's vectors have changed their length under the same name
 */
export async function storeVectors(
  tx: Tx,
  { company_id }: EmbeddingClaim,
  provider: Provider,
  vectors: readonly { chunk_id: string; vector: Float32Array }[],
): Promise<void> {
  const [space, dimensions] = [vectorSpaceOf(provider), vectors[0]?.vector.length ?? 0];
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

/** @param done everything requested so far is finished; otherwise others have their turn before it continues */
export async function releaseEmbedding(tx: Tx, claim: EmbeddingClaim, done: boolean): Promise<void> {
  await tx.execute(sql`
    update ${knowledge_embeddings} set next_attempt_at = now(), failures = 0, error = null,
      wanted_at = case when ${done} and wanted_at = ${claim.wanted_at}::timestamptz then null else wanted_at end
    where company_id = ${claim.company_id}`);
}

const FIRST_PAUSE_SEC = 10;
const LONGEST_PAUSE_SEC = 3600;

/** Retries after a doubling delay, or from `retry_at` on; a change of provider ends the wait. */
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
