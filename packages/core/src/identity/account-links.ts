import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, lt, sql } from 'drizzle-orm';

const { account_links } = schema;

type LinkPurpose = 'confirm_email' | 'reset_password';

type AccountLink = typeof account_links.$inferSelect;

/** Lifetimes. A link that sets a password is as good as the password while it is valid. */
const MINUTES: Readonly<Record<LinkPurpose, number>> = { confirm_email: 3 * 24 * 60, reset_password: 30 };

/** The token goes into the mail; only its hash is stored. */
export async function makeLink(
  tx: Tx,
  purpose: LinkPurpose,
  { user_id, email }: { user_id: string; email: string },
): Promise<{ token: string; expires_at: Date }> {
  const token = newToken();
  const expires_at = sql`now() + make_interval(mins => ${MINUTES[purpose]})`;
  const [row] = await tx
    .insert(account_links)
    .values({ token_hash: sha256Hex(token), purpose, user_id, email, expires_at })
    .returning();
  return { token, expires_at: row!.expires_at };
}

/** Undefined for a spent, expired or unknown one. */
export async function findLink(
  tx: Tx,
  purpose: LinkPurpose,
  token: string,
): Promise<AccountLink | undefined> {
  const [row] = await tx
    .select()
    .from(account_links)
    .where(and(eq(account_links.token_hash, sha256Hex(token)), standing(purpose)));
  return row;
}

/** The user's pending link. */
export async function findLinkOf(
  tx: Tx,
  purpose: LinkPurpose,
  user_id: string,
): Promise<AccountLink | undefined> {
  const [row] = await tx
    .select()
    .from(account_links)
    .where(and(eq(account_links.user_id, user_id), standing(purpose)));
  return row;
}

/** Spends the link. False if another request was first. */
export async function spendLink(tx: Tx, { token_hash }: AccountLink): Promise<boolean> {
  const spent = await tx
    .delete(account_links)
    .where(eq(account_links.token_hash, token_hash))
    .returning({ token_hash: account_links.token_hash });
  return spent.length > 0;
}

/** @returns whether there was a valid one */
export async function endLinks(tx: Tx, user_id: string, purpose: LinkPurpose): Promise<boolean> {
  const ended = await tx
    .delete(account_links)
    .where(and(eq(account_links.user_id, user_id), eq(account_links.purpose, purpose)))
    .returning({ stood: sql<boolean>`expires_at > now()` });
  return ended.some(({ stood }) => stood);
}

/** Retention: an unconfirmed change of address is forgotten along with its link. */
export async function deleteExpiredLinks(tx: Tx): Promise<void> {
  await tx.delete(account_links).where(lt(account_links.expires_at, sql`now()`));
}

const standing = (purpose: LinkPurpose) =>
  and(eq(account_links.purpose, purpose), gt(account_links.expires_at, sql`now()`));
