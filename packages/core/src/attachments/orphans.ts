/**
 * The life of a storage key: reserved before its bytes are written; kept by the transaction that writes the row; recorded again
 * by a trigger when the row is deleted; claimed, its bytes deleted, forgotten. The first claim wins: a claimed key can't be kept
 * any more, and a kept one can't be claimed.
 */
import { schema, type Tx } from '@acp/db';
import { unavailable } from '@acp/kernel';
import { and, inArray, isNotNull, isNull, sql } from 'drizzle-orm';

const { storage_orphans } = schema;

/** An upload takes at most five minutes (the request's time limit); an hour leaves room for slow commits and clock drift. */
const UPLOAD_GRACE = sql`interval '1 hour'`;
/** A process deletes a key's bytes right after claiming it; after this long it must have died. */
const CLAIM_GRACE = sql`interval '5 minutes'`;

/** Call before the first byte, in a separate transaction. */
export async function reserveStorageKeys(tx: Tx, keys: readonly string[]): Promise<void> {
  await tx.insert(storage_orphans).values(keys.map((storage_key) => ({ storage_key })));
}

/** Call in the transaction that writes the rows. Throws `unavailable` if a key was claimed: the upload took too long. */
export async function keepStorageKeys(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const kept = await tx
    .delete(storage_orphans)
    .where(and(inArray(storage_orphans.storage_key, [...keys]), isNull(storage_orphans.doomed_at)))
    .returning({ key: storage_orphans.storage_key });
  if (kept.length !== keys.length) throw unavailable('the upload took too long');
}

/** Claims keys that no row took. @returns those whose bytes the caller deletes next */
export async function claimUnusedKeys(tx: Tx, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  const claimed = await tx
    .update(storage_orphans)
    .set({ doomed_at: sql`now()` })
    .where(inArray(storage_orphans.storage_key, [...keys]))
    .returning({ key: storage_orphans.storage_key });
  return claimed.map(({ key }) => key);
}

/** Claims up to `limit` orphaned keys. @returns those whose bytes the caller deletes next */
export async function claimOrphans(tx: Tx, limit: number): Promise<string[]> {
  const { rows } = await tx.execute<{ key: string }>(sql`
    update storage_orphans set doomed_at = now()
    where storage_key in (
      select storage_key from storage_orphans
      where case when doomed_at is null then created_at < now() - ${UPLOAD_GRACE} else doomed_at < now() - ${CLAIM_GRACE} end
      order by created_at limit ${limit} for update skip locked)
    returning storage_key as key`);
  return rows.map(({ key }) => key);
}

/** The same three operations for the file store, each in a statement of its own. */
export function keyLedger(db: Tx) {
  return {
    reserve: async (keys: readonly string[]) => reserveStorageKeys(db, keys),
    claim: async (keys: readonly string[]) => claimUnusedKeys(db, keys),
    forget: async (keys: readonly string[]) => forgetStorageKeys(db, keys),
  };
}

/** Call once their bytes are deleted. */
export async function forgetStorageKeys(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .delete(storage_orphans)
    .where(and(inArray(storage_orphans.storage_key, [...keys]), isNotNull(storage_orphans.doomed_at)));
}
