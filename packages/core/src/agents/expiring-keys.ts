import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import {
  announceExpiry,
  expiringSoon,
  KEY_WARNING_BATCH,
  warnOfExpiringBoardUserKeys,
} from '../companies/index.ts';

const { agent_api_keys } = schema;

/** Announces the expiry of both kinds of keys, once, a week ahead. @returns whether there may be more */
export async function warnOfExpiringKeys(tx: Tx): Promise<boolean> {
  const keys = await tx
    .update(agent_api_keys)
    .set({ expiry_warned_at: sql`now()` })
    .where(expiringSoon(agent_api_keys))
    .returning();
  await announceExpiry(tx, 'agent_key', keys);
  const others = await warnOfExpiringBoardUserKeys(tx);
  return keys.length === KEY_WARNING_BATCH || others === KEY_WARNING_BATCH;
}
