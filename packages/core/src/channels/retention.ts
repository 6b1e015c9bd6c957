import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { deleteRevokedPairings } from '../identity/index.ts';

/** How long repeated deliveries are detected; vendors give up within the hour. */
const INBOX_DAYS = 3;
const SENT_DAYS = 7;
/** An approval's buttons work as long as its message is kept. */
const APPROVAL_DAYS = 30;
/** A thread unused for this long starts over. */
const THREAD_DAYS = 90;

/** Deletes old messages, codes, strangers, threads and revoked pairings. */
export async function deleteOldChannelTraffic(tx: Tx): Promise<void> {
  const days = (count: number) => sql`now() - make_interval(days => ${count})`;
  await tx.execute(sql`delete from channel_inbox where created_at < ${days(INBOX_DAYS)}`);
  await tx.execute(sql`
    delete from channel_outbox where created_at < ${days(SENT_DAYS)} and (approval_id is null or created_at < ${days(APPROVAL_DAYS)})`);
  await tx.execute(sql`delete from channel_drafts where created_at < ${days(SENT_DAYS)}`);
  await tx.execute(sql`delete from channel_pairing_codes where expires_at < now()`);
  await tx.execute(sql`delete from channel_strangers where created_at < ${days(1)}`);
  await tx.execute(sql`delete from channel_threads where updated_at < ${days(THREAD_DAYS)}`);
  await deleteRevokedPairings(tx);
}
