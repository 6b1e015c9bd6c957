import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { createdAt, id, instant } from './columns.ts';

/** What waits to be sent to people or programs outside, and for some days what became of it. */
export const outgoing_messages = pgTable(
  'outgoing_messages',
  {
    id: id(),
    /** `mail`, or the operator's channels: `slack`, `telegram`, `webhook`. */
    channel: text().notNull(),
    /** What it is for: `alert`, `invite` … */
    purpose: text().notNull(),
    /** An address; empty for channels that have one place each. */
    recipient: text().notNull(),
    subject: text().notNull(),
    /** The text, or what a webhook's body is made of; null once it was sent or given up. */
    body: text(),
    payload: jsonb(),
    /** The text of one that opens something, such as an invite: sealed, and gone once it was sent. */
    body_sealed: text(),
    status: text().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    error: text(),
    /** Null: nothing is to be done. Moved ahead by whoever sends it: that is the lease. */
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
