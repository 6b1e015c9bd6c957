import type { MessageChannel } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { cutText, newId, storableText, type Vault } from '@acp/kernel';

const { outgoing_messages } = schema;

export interface NewMessage {
  channel: MessageChannel;
  purpose: string;
  /** An address; empty for the operator's channels. */
  recipient: string;
  subject: string;
  body: string;
  /** What a webhook sends in place of the text. */
  payload?: Record<string, unknown>;
}

// In bytes.
const SUBJECT = 300;
const BODY = 20_000;

/** Where the text of a message lies, for the vault. */
export const place = (id: string): string => `outgoing_messages/${id}`;

/**
 * In the transaction of what it tells of.
 * @param vault given for texts that open something: they are stored sealed
 * @throws unavailable where such a text can't be sealed, for want of an encryption key
 */
export async function queueMessages(
  tx: Tx,
  news: readonly NewMessage[],
  vault: Vault | null = null,
): Promise<(typeof outgoing_messages.$inferSelect)[]> {
  if (news.length === 0) return [];
  const rows = news.map(({ subject, body, ...rest }) => {
    const id = newId();
    const text = cutText(storableText(body), BODY);
    return {
      ...rest,
      id,
      // A line of its own in the head of a mail.
      subject: cutText(storableText(subject).replace(/\s+/g, ' '), SUBJECT),
      ...(vault === null ? { body: text } : { body_sealed: vault.seal(text, place(id)) }),
    };
  });
  signal(tx, 'due', '');
  return tx.insert(outgoing_messages).values(rows).returning();
}
