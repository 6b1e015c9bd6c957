import { schema, signal, type Tx } from '@acp/db';
import { cutText, newId, storableText } from '@acp/kernel';
import { sql } from 'drizzle-orm';

const { channel_outbox } = schema;

/** Where a message is sent. */
export interface Place {
  /** Null: to someone who is not paired. */
  user_id: string | null;
  conversation: string;
  thread?: string;
  reply_to?: string | null;
}

// Limit in bytes.
const LONGEST = 20_000;
/** Maximum number of pending messages per channel; further ones are dropped. */
const MOST_PENDING = 1000;

export type NewOutgoing = Place & { channel_id: string; kind: string; dedupe_key: string } & Partial<
    Pick<
      typeof channel_outbox.$inferInsert,
      'body' | 'chat_message_id' | 'question_id' | 'approval_id' | 'approval_version'
    >
  >;

/** Queues messages that are not queued yet, in this order; a full channel accepts no more. */
export async function queueOutgoing(tx: Tx, rows: readonly NewOutgoing[]): Promise<void> {
  if (rows.length === 0) return;
  const full = await fullChannels(tx, [...new Set(rows.map(({ channel_id }) => channel_id))]);
  const values = rows
    .filter(({ channel_id }) => !full.has(channel_id))
    .map(({ body, ...row }) => ({
      ...row,
      body: body === undefined || body === null ? null : cutText(storableText(body), LONGEST),
    }));
  if (values.length === 0) return;
  await tx.insert(channel_outbox).values(values).onConflictDoNothing();
  for (const { channel_id } of values) signal(tx, 'channels', channel_id);
}

export async function queueNotice(tx: Tx, channel_id: string, place: Place, body: string): Promise<void> {
  await queueOutgoing(tx, [{ ...place, channel_id, kind: 'notice', dedupe_key: `notice:${newId()}`, body }]);
}

async function fullChannels(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select c.id from channels c
    where c.id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))
      and exists (select from channel_outbox o where o.channel_id = c.id and o.status = 'pending'
        order by o.seq offset ${MOST_PENDING - 1} limit 1)`);
  return new Set(rows.map(({ id }) => id));
}
