import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, lt, sql } from 'drizzle-orm';

const { account_links } = schema;

export type LinkPurpose = 'confirm_email' | 'reset_password';

type AccountLink = typeof account_links.$inferSelect;

/** A link that sets a password is the password for as long. */
const MINUTES: Readonly<Record<LinkPurpose, number>> = { confirm_email: 3 * 24 * 60, reset_password: 30 };

/** The token is for the mail and is stored as its hash only. */
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

/** Undefined for one that is spent, expired or unknown. */
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

/** The one under way. */
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

/** Spends it. False where another request came first. */
export async function spendLink(tx: Tx, { token_hash }: AccountLink): Promise<boolean> {
  const spent = await tx
    .delete(account_links)
    .where(eq(account_links.token_hash, token_hash))
    .returning({ token_hash: account_links.token_hash });
  return spent.length > 0;
}

/** @returns whether there was one that still stood */
export async function endLinks(tx: Tx, user_id: string, purpose: LinkPurpose): Promise<boolean> {
  const ended = await tx
    .delete(account_links)
    .where(and(eq(account_links.user_id, user_id), eq(account_links.purpose, purpose)))
    .returning({ stood: sql<boolean>`expires_at > now()` });
  return ended.some(({ stood }) => stood);
}

/** Retention: a change of address that nobody confirmed is forgotten with its link. */
export async function deleteExpiredLinks(tx: Tx): Promise<void> {
  await tx.delete(account_links).where(lt(account_links.expires_at, sql`now()`));
}

const standing = (purpose: LinkPurpose) =>
  and(eq(account_links.purpose, purpose), gt(account_links.expires_at, sql`now()`));
