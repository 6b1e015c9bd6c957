// A mail server as senders see it, built on the protocol's own library, that can refuse mail.
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** Headers and body as received. */
  raw: string;
}

export interface FakeMail {
  /** `SERVICE_SMTP_URL`. */
  url: string;
  received: ReceivedMail[];
  /** Reply code for a recipient: 0 accepts, 450 and the like refuse. */
  refuseWith(code: number): void;
  close(): Promise<void>;
}

export async function startFakeMail(): Promise<FakeMail> {
  const received: ReceivedMail[] = [];
  let refusal = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo(_address, _session, done) {
      done(refusal === 0 ? null : Object.assign(new Error('not here'), { responseCode: refusal }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : (mailFrom?.address ?? ''),
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('utf8'),
        });
        done(null);
      });
    },
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    refuseWith: (code) => (refusal = code),
    close: async () => new Promise((resolve) => server.close(() => resolve())),
  };
}
