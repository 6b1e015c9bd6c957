/**
 * Verifying e-mail addresses by mail: a link sent there proves ownership when it is opened by someone signed in to the account.
 * A new address replaces the former one only with that proof.
 */
import type { Actor, OwnEmail, UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { asciiLowerCase, conflict, notFound, rateLimited, said, stated, unauthenticated } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import { type Mailing, mailsLinks } from '../messages/index.ts';
import { recordSecurityEvents } from '../security/index.ts';
import { endLinks, findLink, findLinkOf, makeLink, spendLink } from './account-links.ts';
import { reserveConfirmation } from './account-mails.ts';
import { lockUser } from './lock-user.ts';
import { mailUser } from './mail-user.ts';
import type { UserRow } from './present.ts';
import { closeUserSessions } from './sessions.ts';
import { findUser, findUserByEmail, takingEmail } from './users.ts';

const { users } = schema;

const HOUR_SEC = 3600;
const NO_MAIL = stated('no mail is set up: see SERVICE_SMTP_URL and SERVICE_ENCRYPTION_KEY');

const sameAddress = (one: string, other: string) => asciiLowerCase(one) === asciiLowerCase(other);

export async function readOwnEmail(tx: Tx, user_id: string, mailing: Mailing): Promise<OwnEmail> {
  const user = await findUser(tx, user_id);
  if (!user) throw unauthenticated('not authenticated as user');
  const link = await findLinkOf(tx, 'confirm_email', user_id);
  return {
    email: user.email,
    verified_at: user.email_verified_at,
    pending_email: link && link.email !== user.email ? link.email : null,
    link_expires_at: link?.expires_at ?? null,
    by_mail: mailsLinks(mailing),
  };
}

/** The address awaiting confirmation in a user's account, or null. */
export async function pendingEmail(tx: Tx, user: Pick<UserRow, 'id' | 'email'>): Promise<string | null> {
  const link = await findLinkOf(tx, 'confirm_email', user.id);
  return link && link.email !== user.email ? link.email : null;
}

/**
 * Begins a change of address: the new one gets a link, the former one a notification. Whether another account has the new
 * address is revealed only to its owner, by mail.
 * @param before the user, locked
 * @throws rateLimited after five per hour for the account or the new address; conflict for a taken address if the caller is an
 * instance admin, who can see all users anyway
 */
export async function beginEmailChange(
  tx: Tx,
  actor: Actor,
  before: UserRow,
  email: string,
  mailing: Mailing,
): Promise<void> {
  const own = actor.kind === 'user' && actor.user_id === before.id;
  const holder = await findUserByEmail(tx, email);
  const taken = holder !== undefined && holder.id !== before.id;
  if (taken && !own) throw conflict('email is already in use');
  await sendLink(tx, before, email, mailing, taken);
  const asked = (name: string) =>
    own
      ? said`Someone who is signed in to your account at ${name} asked to move it from this address to ${email}.`
      : said`An administrator asked to move your account at ${name} from this address to ${email}.`;
  await mailUser(tx, mailing, {
    purpose: 'account',
    recipient: before.email,
    subject: said`Your account’s address is being changed`,
    paragraphs: (name) => [
      asked(name),
      said`The change takes effect once the new address is confirmed. Until then this one is used.`,
      said`If it was not you, take the change back under ${mailing.public_url}/profile and change your password, or tell an administrator.`,
    ],
  });
  await recordInstanceAct(tx, actor, 'user.email_change_requested', { user_id: before.id, email });
  await recordSecurityEvents(tx, [
    { kind: 'email.change_requested', user_id: before.id, subject: actor.name, details: { email } },
  ]);
}

/** Sends a mail to a new account with an unverified address; does nothing without a mail server. */
export async function welcomeUser(tx: Tx, user: UserRow, mailing: Mailing): Promise<void> {
  if (user.email_verified_at !== null || !mailsLinks(mailing)) return;
  // An account isn't refused because its address has received many mails: its owner can request the link later.
  if (await reserveConfirmation(tx, user.id, user.email)) await writeLink(tx, user, user.email, mailing);
}

/** @throws conflict without mail and if nothing needs confirmation, rateLimited after five per hour */
export async function resendConfirmation(tx: Tx, actor: UserActor, mailing: Mailing): Promise<OwnEmail> {
  if (!mailsLinks(mailing)) throw conflict(NO_MAIL);
  const user = await lockUser(tx, actor.user_id);
  const pending = await pendingEmail(tx, user);
  if (pending === null && user.email_verified_at !== null) throw conflict('the address is already confirmed');
  const email = pending ?? user.email;
  const holder = await findUserByEmail(tx, email);
  await sendLink(tx, user, email, mailing, holder !== undefined && holder.id !== user.id);
  return readOwnEmail(tx, user.id, mailing);
}

/** @throws notFound if no change is pending */
export async function cancelEmailChange(tx: Tx, actor: UserActor): Promise<void> {
  const user = await lockUser(tx, actor.user_id);
  const email = await pendingEmail(tx, user);
  if (email === null) throw notFound();
  await endLinks(tx, user.id, 'confirm_email');
  await recordInstanceAct(tx, actor, 'user.email_change_cancelled', { user_id: user.id, email });
}

/** The confirmation page's question and the account's current address; undefined for a spent, expired or foreign link. */
export async function previewConfirmation(
  tx: Tx,
  actor: UserActor,
  token: string,
): Promise<{ email: string; former: string } | undefined> {
  const link = await findLink(tx, 'confirm_email', token);
  const user = link?.user_id === actor.user_id ? await findUser(tx, actor.user_id) : undefined;
  return link && user && { email: link.email, former: user.email };
}

/**
 * The link was opened by its account. A new address ends the other sessions and whatever was pending for the former one, which
 * is notified.
 * @throws notFound for a spent, expired or foreign link, conflict if another account has the address
 */
export async function confirmEmail(
  tx: Tx,
  actor: UserActor,
  token: string,
  mailing: Mailing,
): Promise<OwnEmail> {
  const before = await lockUser(tx, actor.user_id);
  const link = await findLink(tx, 'confirm_email', token);
  if (!link || link.user_id !== before.id || !(await spendLink(tx, link)))
    throw notFound('this link is no longer valid, or is for another account');
  const { email } = link;
  await takingEmail(async () =>
    tx
      .update(users)
      .set({ email, email_verified_at: sql`now()`, updated_at: sql`now()` })
      .where(eq(users.id, before.id)),
  );
  const { id: user_id } = before;
  const moved = email !== before.email;
  if (moved) {
    await closeUserSessions(tx, user_id, actor.session_id);
    await recordInstanceAct(tx, actor, 'user.updated', { user_id, email });
    if (!sameAddress(email, before.email)) await mailFormerAddress(tx, before, email, mailing);
  }
  const kind = moved ? 'email.changed' : 'email.confirmed';
  await recordSecurityEvents(tx, [{ kind, user_id, subject: actor.name, details: { email } }]);
  return readOwnEmail(tx, user_id, mailing);
}

async function mailFormerAddress(tx: Tx, before: UserRow, email: string, mailing: Mailing): Promise<void> {
  await mailUser(tx, mailing, {
    purpose: 'account',
    recipient: before.email,
    subject: said`Your account’s address has been changed`,
    paragraphs: (name) => [
      said`Your account at ${name} has moved from this address to ${email}. All other sessions have ended.`,
      said`If this was not you, tell an administrator immediately.`,
    ],
  });
}

/** @param taken another account has the address: its owner is notified, and the pending link grants nothing */
async function sendLink(
  tx: Tx,
  user: UserRow,
  email: string,
  mailing: Mailing,
  taken: boolean,
): Promise<void> {
  if (!(await reserveConfirmation(tx, user.id, email)))
    throw rateLimited('too many mails were asked for; try again later', HOUR_SEC);
  if (taken) await writeRefusal(tx, user, email, mailing);
  else await writeLink(tx, user, email, mailing);
}

async function writeLink(tx: Tx, user: UserRow, email: string, mailing: Mailing): Promise<void> {
  const { token, expires_at } = await replaceLink(tx, user, email);
  await mailUser(tx, mailing, {
    purpose: 'confirm_email',
    recipient: email,
    language: user.preferences.language,
    subject: said`Confirm your address`,
    // The reader is not proven to have the account yet, so its owner's display name is not included.
    paragraphs: (name) => [
      said`Someone entered this address for an account at ${name}. If it was you, confirm it:`,
      `${mailing.public_url}/confirm-email?token=${token}`,
      said`The link works once, until ${expires_at.toUTCString()}, for who is signed in to that account.`,
      said`If you did not expect this, you can ignore it.`,
    ],
    sealed: true,
  });
}

async function writeRefusal(tx: Tx, user: UserRow, email: string, mailing: Mailing): Promise<void> {
  await replaceLink(tx, user, email);
  await mailUser(tx, mailing, {
    purpose: 'confirm_email',
    recipient: email,
    subject: said`This address has an account already`,
    paragraphs: (name) => [
      said`Someone asked to use this address for another account at ${name}. It already has an account, so nothing was changed.`,
      said`If it was you, sign in with this address: ${mailing.public_url}/login`,
      said`If you did not expect this, you can ignore it.`,
    ],
    // Takes the same time as sending a link.
    sealed: true,
  });
}

async function replaceLink(tx: Tx, { id: user_id }: UserRow, email: string) {
  await endLinks(tx, user_id, 'confirm_email');
  return makeLink(tx, 'confirm_email', { user_id, email });
}
