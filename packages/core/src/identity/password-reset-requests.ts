/**
 * Forgotten passwords, by mail. The requester learns nothing: the request is only recorded, whoever has the address, and a
 * scheduler handles it.
 */
import { schema, type Tx } from '@acp/db';
import { conflict, rateLimited, said, type Said, saidText } from '@acp/kernel';
import { enqueue, enqueueMany } from '@acp/queue';
import { eq } from 'drizzle-orm';
import { type Mailing, mailsLinks } from '../messages/index.ts';
import { recordSecurityEvents, type SignInPlace } from '../security/index.ts';
import { makeLink } from './account-links.ts';
import { forgottenResetRequests, noteResetRequest, noteSent, takeResetRequest } from './account-mails.ts';
import { mailUser } from './mail-user.ts';
import type { UserRow } from './present.ts';
import { userHasSecondFactor } from './second-factors.ts';
import { findUserByEmail } from './users.ts';

const { oauth_accounts } = schema;

const HOUR_SEC = 3600;

/** @throws conflict without mail, rateLimited after ten per hour from one client address */
export async function requestPasswordReset(
  tx: Tx,
  email: string,
  place: SignInPlace,
  mailing: Mailing,
): Promise<void> {
  if (!mailsLinks(mailing))
    throw conflict('mail is not set up here: ask an administrator to set a new password');
  const request_id = await noteResetRequest(tx, email, place);
  if (request_id === undefined) throw rateLimited('too many requests; try again later', HOUR_SEC);
  await enqueue(tx, 'answer-password-reset', { request_id });
}

/** Re-enqueues requests whose job was lost. */
export async function sweepPasswordResets(tx: Tx): Promise<void> {
  const ids = await forgottenResetRequests(tx);
  await enqueueMany(
    tx,
    'answer-password-reset',
    ids.map((request_id) => ({ request_id })),
  );
}

/** Mails the link, or the reason why there is none, to the account with the address; no one else gets mail. */
export async function answerPasswordReset(tx: Tx, request_id: string, mailing: Mailing): Promise<void> {
  const request = await takeResetRequest(tx, request_id);
  if (!request) return;
  const { recipient, address, user_agent, share } = request;
  const user = await findUserByEmail(tx, recipient);
  const place = { address: address ?? '', user_agent };
  await recordSecurityEvents(tx, [
    { kind: 'password_reset.requested', subject: recipient, user_id: user?.id ?? null, place },
  ]);
  if (!user?.is_active || !share || !mailsLinks(mailing)) return;
  await noteSent(tx, request_id, user.id);
  const obstacle = await obstacleOf(tx, user);
  if (obstacle !== null) {
    await mailUser(tx, mailing, {
      purpose: 'account',
      recipient: user.email,
      subject: said`Your password`,
      paragraphs: (name) => [
        said`Someone, probably you, asked for a new password for your account at ${name}. ${obstacle}`,
        `${mailing.public_url}/login`,
        said`If this was not you, you can ignore this message.`,
      ],
    });
    return;
  }
  const { token, expires_at } = await makeLink(tx, 'reset_password', { user_id: user.id, email: user.email });
  await mailUser(tx, mailing, {
    purpose: 'reset_password',
    recipient: user.email,
    subject: said`A new password`,
    paragraphs: (name) => [
      said`Someone, probably you, asked for a new password for your account at ${name}:`,
      `${mailing.public_url}/reset-password?token=${token}`,
      said`The link works once, until ${expires_at.toUTCString()}. It was asked for from ${place.address}.`,
      said`If this was not you, you can ignore this message: your password stays as it is.`,
    ],
    sealed: true,
  });
}

const labels: Readonly<Record<string, string>> = { google: 'Google', github: 'GitHub' };

/** Why no link can be sent; null if one can. */
export async function obstacleOf(tx: Tx, user: UserRow): Promise<Said | null> {
  if (user.password_hash === null) {
    const accounts = await tx
      .select({ provider: oauth_accounts.provider })
      .from(oauth_accounts)
      .where(eq(oauth_accounts.user_id, user.id))
      .limit(20);
    const [first, ...more] = new Set(
      accounts.map(({ provider }) => labels[provider] ?? said`single sign-on`.text),
    );
    if (first === undefined) return said`It has no password. An administrator can set one:`;
    const names = more.reduce<Said>((all, name) => said`${all} or ${saidText(name)}`, saidText(first));
    return said`It has no password. You sign in by ${names}:`;
  }
  // The address is unverified: a mailbox alone does not replace a second factor.
  if (user.email_verified_at === null && (await userHasSecondFactor(tx, user.id)))
    return said`Its address was never confirmed, so an administrator has to set the password. If you still know it:`;
  return null;
}
