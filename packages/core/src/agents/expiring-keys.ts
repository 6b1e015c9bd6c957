import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { announceExpiry, expiringSoon, warnOfExpiringBoardUserKeys } from '../companies/index.ts';

const { agent_api_keys } = schema;

/** Announces the end of keys of either kind, once, a week ahead. */
export async function warnOfExpiringKeys(tx: Tx): Promise<void> {
  const keys = await tx
    .update(agent_api_keys)
    .set({ expiry_warned_at: sql`now()` })
    .where(expiringSoon)
    .returning();
  const named = keys.map((key) => ({
    ...key,
    label: key.label ?? key.key_prefix,
    expires_at: key.expires_at!,
  }));
  await announceExpiry(tx, 'agent_key', named);
  await warnOfExpiringBoardUserKeys(tx);
}
