/**
 * The life of a key: reserved, before its bytes are written; kept, by the transaction that writes the row; written down
 * again by a trigger when the row goes; claimed, its bytes deleted, forgotten. The first claim wins: a key that
 * is claimed can't be kept any more, and a kept one can't be claimed.
 */
import { schema, type Tx } from '@acp/db';
import { unavailable } from '@acp/kernel';
import { and, inArray, isNotNull, isNull, sql } from 'drizzle-orm';

const { storage_orphans } = schema;

/** An upload lasts five minutes at most (the request's time limit); an hour leaves room for slow commits and clocks. */
const UPLOAD_GRACE = sql`interval '1 hour'`;
/** A process deletes the bytes of a key right after claiming it; after this long it has died. */
const CLAIM_GRACE = sql`interval '5 minutes'`;

/** Before the first byte, in a transaction of its own. */
export async function reserveStorageKeys(tx: Tx, keys: readonly string[]): Promise<void> {
  await tx.insert(storage_orphans).values(keys.map((storage_key) => ({ storage_key })));
}

/** In the transaction that writes the rows. Throws `unavailable` when a key was claimed: the upload took too long. */
export async function keepStorageKeys(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const kept = await tx
    .delete(storage_orphans)
    .where(and(inArray(storage_orphans.storage_key, [...keys]), isNull(storage_orphans.doomed_at)))
    .returning({ key: storage_orphans.storage_key });
  if (kept.length !== keys.length) throw unavailable('the upload took too long');
}

/** Claims the keys that no row took. @returns those whose bytes the caller deletes next */
export async function claimUnkeptKeys(tx: Tx, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  const claimed = await tx
    .update(storage_orphans)
    .set({ doomed_at: sql`now()` })
    .where(inArray(storage_orphans.storage_key, [...keys]))
    .returning({ key: storage_orphans.storage_key });
  return claimed.map(({ key }) => key);
}

/** Claims up to `limit` keys that are left over. @returns those whose bytes the caller deletes next */
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

/** The same three for the file store: each a statement of its own. */
export function keyLedger(db: Tx) {
  return {
    reserve: async (keys: readonly string[]) => reserveStorageKeys(db, keys),
    claim: async (keys: readonly string[]) => claimUnkeptKeys(db, keys),
    forget: async (keys: readonly string[]) => forgetStorageKeys(db, keys),
  };
}

/** After their bytes are gone. */
export async function forgetStorageKeys(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .delete(storage_orphans)
    .where(and(inArray(storage_orphans.storage_key, [...keys]), isNotNull(storage_orphans.doomed_at)));
}
