import type { OutgoingMessage } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { getTableColumns, sql } from 'drizzle-orm';

const { outgoing_messages } = schema;

const KEPT_DAYS = 7;

// Texts are not shown: some of them grant access.
const { body: _body, body_sealed: _sealed, payload: _payload, ...shown } = getTableColumns(outgoing_messages);

type MessageRow = Omit<typeof outgoing_messages.$inferSelect, 'body' | 'body_sealed' | 'payload'>;

export function presentOutgoing(row: MessageRow): OutgoingMessage {
  const { id, purpose, recipient, subject, attempts, error, created_at, finished_at } = row;
  const channel = row.channel as OutgoingMessage['channel'];
  const status = row.status as OutgoingMessage['status'];
  return { id, channel, purpose, recipient, subject, status, attempts, error, created_at, finished_at };
}

/** Newest first. */
export async function listOutgoing(tx: Tx, query: PageRequest): Promise<Page<OutgoingMessage>> {
  const page = newestFirst(outgoing_messages.created_at, outgoing_messages.id, query, 50);
  const rows = await tx
    .select(shown)
    .from(outgoing_messages)
    .where(page.where)
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, presentOutgoing);
}

/** Deletes messages that were sent or given up more than a week ago. */
export async function deleteOldMessages(tx: Tx): Promise<void> {
  await tx.execute(sql`
    delete from outgoing_messages where created_at < now() - make_interval(days => ${KEPT_DAYS}) and next_attempt_at is null`);
}
