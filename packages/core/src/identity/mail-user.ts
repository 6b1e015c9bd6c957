import type { Tx } from '@acp/db';
import { said, type Said } from '@acp/kernel';
import { type Mailing, queueMessages } from '../messages/index.ts';
import { instanceName } from '../settings/index.ts';
import type { UserRow } from './present.ts';

interface AccountMail {
  purpose: 'confirm_email' | 'reset_password' | 'account';
  recipient: string;
  /** What follows the instance's name. */
  subject: Said;
  /** With the instance's name, for the text. */
  paragraphs: (name: string) => readonly (Said | string)[];
  /** Of whom it is for, where the address is not yet theirs. */
  language?: string | undefined;
  /** It holds a link that opens something. */
  sealed?: true;
}

/** In the transaction of what it tells of; nothing where no mail server is set up. */
export async function mailUser(tx: Tx, mailing: Mailing, news: AccountMail): Promise<void> {
  if (!mailing.mail) return;
  const { subject, paragraphs, sealed, ...rest } = news;
  const name = await instanceName(tx, mailing.public_url);
  const text = { subject: said`[${name}] ${subject}`, body: paragraphs(name) };
  await queueMessages(tx, [{ ...rest, channel: 'mail', ...text }], sealed ? mailing.vault : null);
}

/** Nobody's password changes unnoticed. @param how said`by an administrator` */
export async function tellOfPassword(tx: Tx, user: UserRow, mailing: Mailing, how: Said): Promise<void> {
  await mailUser(tx, mailing, {
    purpose: 'account',
    recipient: user.email,
    subject: said`Your password was changed`,
    paragraphs: (name) => [
      said`The password of your account at ${name} was changed ${how}. All other sessions have ended.`,
      said`If it was not you, tell an administrator at once.`,
    ],
  });
}
