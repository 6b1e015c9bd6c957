import type { ClaimedMessage } from '@acp/core';
import { type Config, Scrubber } from '@acp/kernel';
import { Undeliverable } from './undeliverable.ts';

const TIMEOUT_MS = 15_000;

/** The mailer of SERVICE_SMTP_URL; it connects for the first mail and keeps the connection for a while. */
export function openMail({ smtp_url, mail_from }: Pick<Config, 'smtp_url' | 'mail_from'>) {
  const connect = async (url: string) => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // We send text only: nothing in a message may name a file or an address to fetch.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  const scrubber = new Scrubber(smtp_url === null ? [] : passwordForms(smtp_url));
  let transport: ReturnType<typeof connect> | undefined;
  return {
    /** @param signal ends the connection: a server may be slow for ever without being silent */
    async send({ id, recipient, subject, body }: ClaimedMessage, signal: AbortSignal): Promise<void> {
      if (smtp_url === null || mail_from === null) throw new Undeliverable('no mail server is set up');
      transport ??= connect(smtp_url);
      const mailer = await transport;
      try {
        await mailer.sendMail({
          from: mail_from,
          to: { name: '', address: recipient },
          subject,
          text: body,
          // Same in every attempt, so that a mail delivered twice is recognisable.
          messageId: `<${id}@agent-control-plane>`,
          headers: { 'auto-submitted': 'auto-generated' },
          signal,
        });
      } catch (error) {
        throw readable(error, scrubber);
      }
    },
    async close(): Promise<void> {
      (await transport)?.close();
    },
  };
}

/** Keeps the server's own message, which says what is wrong; a rejected address or mail is not retried. */
function readable(error: unknown, scrubber: Scrubber): Error {
  const { responseCode, code, message } = error as { responseCode?: number; code?: string; message?: string };
  const text = scrubber.scrub(message ?? 'the mail server failed');
  // Only the operator can fix a wrong password, so mails wait for that.
  const refused = responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH';
  return refused ? new Undeliverable(text) : new Error(text);
}

/** The password in every form in which the server is told it, and may repeat it. */
function passwordForms(smtp_url: string): string[] {
  const { username, password } = new URL(smtp_url);
  const [name, word] = [decodeURIComponent(username), decodeURIComponent(password)];
  const inBase64 = [word, `\0${name}\0${word}`].map((text) => Buffer.from(text).toString('base64'));
  return word === '' ? [] : [password, word, ...inBase64];
}
