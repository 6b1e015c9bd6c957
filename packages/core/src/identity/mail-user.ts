import type { Tx } from '@acp/db';
import { type Mailing, queueMessages } from '../messages/index.ts';
import { instanceName } from '../settings/index.ts';
import type { UserRow } from './present.ts';

interface AccountMail {
  purpose: 'confirm_email' | 'reset_password' | 'account';
  recipient: string;
  /** What follows the instance's name. */
  subject: string;
  /** With the instance's name, for the text. */
  paragraphs: (name: string) => readonly string[];
  /** It holds a link that opens something. */
  sealed?: true;
}

/** In the transaction of what it tells of; nothing where no mail server is set up. */
export async function mailUser(tx: Tx, mailing: Mailing, news: AccountMail): Promise<void> {
  if (!mailing.mail) return;
  const { purpose, recipient, subject, paragraphs, sealed } = news;
  const name = await instanceName(tx, mailing.public_url);
  const text = { subject: `[${name}] ${subject}`, body: `${paragraphs(name).join('\n\n')}\n` };
  await queueMessages(tx, [{ channel: 'mail', purpose, recipient, ...text }], sealed ? mailing.vault : null);
}

/** Nobody's password changes unnoticed. @param how `by an administrator` */
export async function tellOfPassword(tx: Tx, user: UserRow, mailing: Mailing, how: string): Promise<void> {
  await mailUser(tx, mailing, {
    purpose: 'account',
    recipient: user.email,
    subject: 'Your password was changed',
    paragraphs: (name) => [
      `The password of your account at ${name} was changed ${how}. All other sessions have ended.`,
      'If it was not you, tell an administrator at once.',
    ],
  });
}
