import { schema, type Tx } from '@acp/db';
import { conflict, forbidden, newId } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { endWaysIn, type Proof } from './claimed-account.ts';
import { findUser, findUserByEmail } from './users.ts';

const { oauth_accounts, users } = schema;

/** An identity at a provider: `subject` is unique within `issuer`. */
export interface ProviderIdentity {
  provider: 'google' | 'github' | 'oidc';
  issuer: string;
  subject: string;
  email: string | null;
  /** Only if the provider explicitly says so. */
  email_verified: boolean;
  display_name: string | null;
}

/** Seals a value for its location; null if nothing can be sealed. */
type Seal = (place: string) => string | null;

/**
 * The user behind the identity: one who has signed in with it before, or the owner of the address verified by the provider.
 * Undefined for a stranger. @throws forbidden for a deactivated account
 */
export async function recognizeUser(tx: Tx, identity: ProviderIdentity): Promise<Proof | undefined> {
  const account = await findAccount(tx, identity);
  const known = account && (await findUser(tx, account.user_id));
  const proof = known ? { user: known, claimed: false } : await ownerOfAddress(tx, identity);
  if (proof && !proof.user.is_active) throw forbidden('this account is deactivated');
  return proof;
}

/** Links identity and user for the next sign-in, and stores the provider's tokens sealed or not at all. */
export async function linkProvider(
  tx: Tx,
  user_id: string,
  identity: ProviderIdentity,
  seal: Seal,
): Promise<void> {
  const { provider, issuer, subject } = identity;
  const id = newId();
  const sealed = seal(place(id));
  const values = { id, user_id, provider, issuer, subject, tokens_sealed: sealed };
  const inserted = await tx
    .insert(oauth_accounts)
    .values(values)
    .onConflictDoNothing()
    .returning({ id: oauth_accounts.id });
  if (inserted.length > 0) return;
  const account = await findAccount(tx, identity);
  // A concurrent sign-in linked the same identity to another user first.
  if (account?.user_id !== user_id) throw conflict('this identity belongs to another account');
  await tx
    .update(oauth_accounts)
    .set({ tokens_sealed: seal(place(account.id)), updated_at: sql`now()` })
    .where(eq(oauth_accounts.id, account.id));
}

/** Location of the tokens, for the vault: what is sealed for one row can't be opened in another. */
const place = (id: string) => `oauth_accounts/${id}`;

async function findAccount(tx: Tx, { provider, issuer, subject }: ProviderIdentity) {
  const [account] = await tx
    .select()
    .from(oauth_accounts)
    .where(
      and(
        eq(oauth_accounts.provider, provider),
        eq(oauth_accounts.issuer, issuer),
        eq(oauth_accounts.subject, subject),
      ),
    );
  return account;
}

/**
 * The owner of the address verified by the provider; an unverified address never matches. The owner of one that nobody had
 * verified claims its account.
 */
async function ownerOfAddress(
  tx: Tx,
  { email, email_verified }: ProviderIdentity,
): Promise<Proof | undefined> {
  if (email === null || !email_verified) return undefined;
  const user = await findUserByEmail(tx, email);
  if (!user || user.email_verified_at !== null) return user && { user, claimed: false };
  const [owned] = await tx
    .update(users)
    .set({ password_hash: null, email_verified_at: sql`now()`, updated_at: sql`now()` })
    .where(and(eq(users.id, user.id), eq(users.email, user.email), isNull(users.email_verified_at)))
    .returning();
  // Changed address, verified or closed since it was read.
  if (!owned) throw conflict('the account has just been changed; sign in again');
  await endWaysIn(tx, user.id);
  return { user: owned, claimed: true };
}
