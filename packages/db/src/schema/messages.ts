import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { createdAt, id, instant } from './columns.ts';

/** Messages to external people or programs, waiting to be sent; for some days afterwards, their outcome. */
export const outgoing_messages = pgTable(
  'outgoing_messages',
  {
    id: id(),
    /** `mail`, or the operator's channels: `slack`, `telegram`, `webhook`. */
    channel: text().notNull(),
    /** Purpose: `alert`, `invite` … */
    purpose: text().notNull(),
    /** An address; empty for channels with a single destination. */
    recipient: text().notNull(),
    subject: text().notNull(),
    /** The text, or the data of a webhook's body; null once sent or given up. */
    body: text(),
    payload: jsonb(),
    /** Text of a message that grants access, such as an invite: sealed, and deleted once sent. */
    body_sealed: text(),
    status: text().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    error: text(),
    /** Null: nothing to do. Moved ahead by the sender: this is the lease. */
    next_attempt_at: instant().default(sql`now()`),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    index('outgoing_messages_due')
      .on(t.next_attempt_at)
      .where(sql`next_attempt_at is not null`),
    index('outgoing_messages_created_at').on(t.created_at.desc(), t.id.desc()),
  ],
);
