import { type Tx, schema } from '@acp/db';
import { lt, sql } from 'drizzle-orm';

const { idempotency_keys } = schema;

/** Retention: responses are kept for 24 hours (decisions 8.5); an older row already counts as absent. */
export async function deleteOldIdempotencyKeys(tx: Tx): Promise<void> {
  await tx.delete(idempotency_keys).where(lt(idempotency_keys.created_at, sql`now() - interval '24 hours'`));
}
