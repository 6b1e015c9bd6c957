import { createValidator, ProviderAccount, ProviderProfile } from '@acp/contract';
import {
  acceptCarriedInvite,
  actorOf,
  enterAccount,
  type Entry,
  findProviderUser,
  welcomeUser,
  joinByInvite,
  linkProvider,
  type Mailing,
  type ProviderIdentity,
  recordSecurityEvents,
  type SignInPlace,
  type TokenHash,
  type UserRow,
} from '@acp/core';
import { type Database, lockByName, transaction, type Tx } from '@acp/db';
import { forbidden, ServiceError, type Vault } from '@acp/kernel';
import type { ProviderTokens } from './provider.ts';

const readAccount = createValidator(ProviderAccount, 'the account at the provider');
const readNewcomer = createValidator(ProviderProfile, 'the account at the provider');

interface SignInMeans {
  database: Database;
  vault: Vault;
  place: SignInPlace;
  mailing: Mailing;
}

/**
 * Turns an identity into a session, in one transaction, after all requests to the provider. Someone who is not a user yet
 * becomes one only through an invite (decisions 7.39); someone with a second factor accepts it by that.
 * @throws invalid for an account without a usable subject, name or address, forbidden for strangers and deactivated
 * accounts; errors of the invite
 */
export async function finishSignIn(
  { database, vault, place, mailing }: SignInMeans,
  { identity, tokens }: { identity: ProviderIdentity; tokens: ProviderTokens },
  { invite, next_path }: { invite: TokenHash | null; next_path: string },
): Promise<Entry> {
  // Without a key the tokens are not stored: there is no plaintext fallback.
  const seal = (row: string) => (vault.available ? vault.seal(JSON.stringify(tokens), row) : null);
  readAccount(identity);
  try {
    return await transaction(database, async (tx) => {
      const known = await knownUser(tx, identity);
      const user = known ?? (await newcomer(tx, identity, invite, mailing));
      await linkProvider(tx, user.id, identity, seal);
      const origin = { method: identity.provider, place };
      const carried = known ? invite : null;
      const entry = await enterAccount(tx, user, origin, { next_path, invite_token: carried?.hash ?? null });
      if (!entry) throw forbidden('this account is deactivated');
      if (carried && entry.kind === 'session') await acceptCarriedInvite(tx, actorOf(user), carried);
      return entry;
    });
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'forbidden') {
      const { provider, subject, email } = identity;
      const details = { provider, reason: error.message };
      const event = { kind: 'sign_in.refused', subject: email ?? subject, place, details } as const;
      await recordSecurityEvents(database.db, [event]);
    }
    throw error;
  }
}

/** A newcomer who comes by two tabs is known to the second. */
async function knownUser(tx: Tx, identity: ProviderIdentity): Promise<UserRow | undefined> {
  const known = await findProviderUser(tx, identity);
  if (known) return known;
  await lockByName(tx, `newcomer ${identity.provider} ${identity.subject}`);
  return findProviderUser(tx, identity);
}

async function newcomer(
  tx: Tx,
  identity: ProviderIdentity,
  invite: TokenHash | null,
  mailing: Mailing,
): Promise<UserRow> {
  const { email, email_verified, display_name } = identity;
  if (invite === null) {
    throw forbidden(
      email !== null && !email_verified
        ? 'no account belongs to this sign-in: the provider has not verified your e-mail address'
        : 'no account belongs to this sign-in: ask an administrator for an invite, and open its link first',
    );
  }
  if (email === null) throw forbidden('the provider does not share your e-mail address');
  const account = readNewcomer({ email, display_name: display_name ?? email });
  const user = await joinByInvite(tx, invite, { ...account, email_verified, password_hash: null });
  await welcomeUser(tx, user, mailing);
  return user;
}
