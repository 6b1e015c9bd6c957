import type { ClaimedMessage } from '@acp/core';
import type { Config } from '@acp/kernel';
import { Undeliverable } from './undeliverable.ts';

const TIMEOUT_MS = 15_000;

/** The mailer of SERVICE_SMTP_URL; a connection is made for the first mail and kept for a while. */
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
      // Texts are all that we send: nothing in a message may name a file or an address to fetch.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  let transport: ReturnType<typeof connect> | undefined;
  return {
    async send({ id, recipient, subject, body }: ClaimedMessage): Promise<void> {
      if (smtp_url === null || mail_from === null) throw new Undeliverable('no mail server is set up');
      transport ??= connect(smtp_url);
      const mailer = await transport;
      try {
        await mailer.sendMail({
          from: mail_from,
          to: { name: '', address: recipient },
          subject,
          text: body,
          // The same in each attempt: a mail that arrives twice is known by it.
          messageId: `<${id}@agent-control-plane>`,
          headers: { 'auto-submitted': 'auto-generated' },
        });
      } catch (error) {
        throw readable(error);
      }
    },
    async close(): Promise<void> {
      (await transport)?.close();
    },
  };
}

/** The server's own words are kept, for they say what is wrong; a refused address or mail is not tried again. */
function readable(error: unknown): Error {
  const { responseCode, code, message } = error as { responseCode?: number; code?: string; message?: string };
  const text = message ?? 'the mail server failed';
  // A wrong password is the operator's to mend: mails wait for that.
  const refused = responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH';
  return refused ? new Undeliverable(text) : new Error(text);
}
