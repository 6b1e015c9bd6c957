import { schema, type Tx } from '@acp/db';
import { eq } from 'drizzle-orm';
import { endLinks } from './account-links.ts';
import { revokePairings } from './chat-pairings.ts';
import type { UserRow } from './present.ts';
import { deleteFactors } from './second-factors.ts';
import { closeUserSessions } from './sessions.ts';

const { oauth_accounts } = schema;

/** A user who has just proved something, and whether that made the account theirs: someone else may have used it until now. */
export interface Proof {
  user: UserRow;
  claimed: boolean;
}

/**
 * The owner of an address that nobody had verified has claimed its account, which someone else may have created in anticipation:
 * every way in other than the password ends, and a pending address.
 */
export async function endWaysIn(tx: Tx, user_id: string): Promise<void> {
  await tx.delete(oauth_accounts).where(eq(oauth_accounts.user_id, user_id));
  await deleteFactors(tx, user_id);
  await endLinks(tx, user_id, 'confirm_email');
  await revokePairings(tx, { user_id });
  await closeUserSessions(tx, user_id);
}
