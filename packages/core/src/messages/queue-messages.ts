import type { MessageChannel } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { cutText, inWords, newId, type Said, storableText, translatorInto, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';

const { outgoing_messages } = schema;

export interface NewMessage {
  channel: MessageChannel;
  purpose: string;
  /** An address; empty for the operator's channels. */
  recipient: string;
  subject: Said;
  /** Paragraphs. */
  body: readonly (Said | string)[];
  /** The recipient's language if the address is not theirs yet; by default it is looked up by the address. */
  language?: string | undefined;
  /** Sent by webhooks instead of the text. */
  payload?: Record<string, unknown>;
}

// Limits in bytes.
const SUBJECT = 300;
const BODY = 20_000;

/** The location of a message's text, for the vault. */
export const place = (id: string): string => `outgoing_messages/${id}`;

/**
 * Called in the transaction of the change that the messages report. Mails to an account's address are in its owner's language,
 * everything else is in English.
 * @param vault given for texts that grant access: they are stored sealed
 * @throws unavailable if such a text can't be sealed for lack of an encryption key
 */
export async function queueMessages(
  tx: Tx,
  news: readonly NewMessage[],
  vault: Vault | null = null,
): Promise<(typeof outgoing_messages.$inferSelect)[]> {
  if (news.length === 0) return [];
  const languages = await languagesOf(tx, news);
  const rows = news.map(({ subject: title, body: paragraphs, language, ...rest }) => {
    const id = newId();
    const translate = translatorInto(
      rest.channel === 'mail' ? (language ?? languages.get(rest.recipient) ?? null) : null,
    );
    const subject = inWords(title, translate);
    const body = `${paragraphs.map((paragraph) => inWords(paragraph, translate)).join('\n\n')}\n`;
    const text = cutText(storableText(body), BODY);
    return {
      ...rest,
      id,
      // Mail headers are single lines.
      subject: cutText(storableText(subject).replace(/\s+/g, ' '), SUBJECT),
      ...(vault === null ? { body: text } : { body_sealed: vault.seal(text, place(id)) }),
    };
  });
  signal(tx, 'due', '');
  return tx.insert(outgoing_messages).values(rows).returning();
}

/** Languages chosen by the owners of the addresses, by address. */
async function languagesOf(tx: Tx, news: readonly NewMessage[]): Promise<ReadonlyMap<string, string>> {
  const asked = news.flatMap(({ channel, recipient }) => (channel === 'mail' ? [recipient] : []));
  if (asked.length === 0) return new Map();
  const { rows } = await tx.execute<{ recipient: string; language: string }>(sql`
    select r.recipient, u.preferences ->> 'language' as language
    from jsonb_array_elements_text(${JSON.stringify(asked)}::jsonb) as r (recipient)
    join users u on lower(u.email collate "C") = lower(r.recipient collate "C")
    where u.preferences ->> 'language' is not null`);
  return new Map(rows.map(({ recipient, language }) => [recipient, language]));
}
