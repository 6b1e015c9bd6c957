import type { Tx } from '@acp/db';
import { said, type Said } from '@acp/kernel';
import { type Mailing, queueMessages } from '../messages/index.ts';
import { instanceName } from '../settings/index.ts';
import type { UserRow } from './present.ts';

interface AccountMail {
  purpose: 'confirm_email' | 'reset_password' | 'account';
  recipient: string;
  /** Appended to the instance's name. */
  subject: Said;
  /** Receives the instance's name for the text. */
  paragraphs: (name: string) => readonly (Said | string)[];
  /** The recipient's language, if the address does not belong to a user yet. */
  language?: string | undefined;
  /** It contains a link that grants something. */
  sealed?: true;
}

/** Part of the transaction it reports on; does nothing without a mail server. */
export async function mailUser(tx: Tx, mailing: Mailing, news: AccountMail): Promise<void> {
  if (!mailing.mail) return;
  const { subject, paragraphs, sealed, ...rest } = news;
  const name = await instanceName(tx, mailing.public_url);
  const text = { subject: said`[${name}] ${subject}`, body: paragraphs(name) };
  await queueMessages(tx, [{ ...rest, channel: 'mail', ...text }], sealed ? mailing.vault : null);
}

/** No password changes without a notification. @param how said`by an administrator` */
export async function mailPasswordChange(tx: Tx, user: UserRow, mailing: Mailing, how: Said): Promise<void> {
  await mailUser(tx, mailing, {
    purpose: 'account',
    recipient: user.email,
    subject: said`Your password was changed`,
    paragraphs: (name) => [
      said`The password of your account at ${name} was changed ${how}. All other sessions have ended.`,
      said`If this was not you, tell an administrator immediately.`,
    ],
  });
}
