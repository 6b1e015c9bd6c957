import { sql } from 'drizzle-orm';
import type { Tx } from './tx.ts';

/** Long enough for the transactions of a healthy instance; a backup or another long reader takes longer. */
const BRIEFLY_MS = 200;

/**
 * For the rest of the transaction, statements that need an exclusive lock give up early (`isLockTimeout`; to callers,
 * `unavailable`): while one waits, every later query of the table waits behind it. Callers try again later.
 */
export async function waitBriefly(tx: Tx, most_ms = BRIEFLY_MS): Promise<void> {
  await tx.execute(sql.raw(`set local lock_timeout = ${most_ms}`));
}
