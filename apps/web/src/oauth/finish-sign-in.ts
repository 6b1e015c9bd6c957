import { createValidator, ProviderAccount, ProviderNewcomer } from '@acp/contract';
import {
  acceptInvite,
  actorOf,
  findProviderUser,
  isMember,
  joinByInvite,
  linkProvider,
  noteLogin,
  openSession,
  previewInvite,
  type ProviderIdentity,
  type UserRow,
} from '@acp/core';
import { type Database, transaction, type Tx } from '@acp/db';
import { forbidden, type Vault } from '@acp/kernel';
import type { ProviderTokens } from './provider.ts';

const readAccount = createValidator(ProviderAccount, 'the account at the provider');
const readNewcomer = createValidator(ProviderNewcomer, 'the account at the provider');

/**
 * From an identity to a session, in one transaction; the provider has been asked before. Who is no user yet becomes one
 * only by an invite (decisions 7.39).
 * @throws invalid for an account without a usable subject, name or address, forbidden for strangers and deactivated accounts; what the invite says
 */
export async function finishSignIn(
  { database, vault }: { database: Database; vault: Vault },
  { identity, tokens }: { identity: ProviderIdentity; tokens: ProviderTokens },
  invite_token: string | null,
): Promise<{ token: string }> {
  // Without a key the tokens are not stored: there is no plaintext fallback.
  const seal = (place: string) => (vault.available ? vault.seal(JSON.stringify(tokens), place) : null);
  readAccount(identity);
  return transaction(database, async (tx) => {
    const known = await findProviderUser(tx, identity);
    if (known && invite_token !== null) await acceptUnlessMember(tx, known, invite_token);
    const user = known ?? (await newcomer(tx, identity, invite_token));
    await linkProvider(tx, user.id, identity, seal);
    if (!(await noteLogin(tx, user.id))) throw forbidden('this account is deactivated');
    return openSession(tx, user.id);
  });
}

/** A member has nothing to accept: the invite stays for somebody else. */
async function acceptUnlessMember(tx: Tx, user: UserRow, invite_token: string): Promise<void> {
  const invite = await previewInvite(tx, invite_token);
  if (invite && (await isMember(tx, invite.company_id, user.id))) return;
  await acceptInvite(tx, actorOf(user), invite_token);
}

async function newcomer(tx: Tx, identity: ProviderIdentity, invite_token: string | null): Promise<UserRow> {
  const { email, email_verified, display_name } = identity;
  if (invite_token === null) {
    const reason =
      email !== null && !email_verified ? ': the provider has not verified your e-mail address' : '';
    throw forbidden(`no account belongs to this sign-in${reason}`);
  }
  if (email === null) throw forbidden('the provider does not tell your e-mail address');
  const account = readNewcomer({ email, display_name: display_name ?? email });
  return joinByInvite(tx, invite_token, { ...account, email_verified, password_hash: null });
}
