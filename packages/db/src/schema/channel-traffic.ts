import { sql } from 'drizzle-orm';
import {
  bigint,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { channels } from './channels.ts';
import { chats } from './chats.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { users } from './identity.ts';

/** A thread in which a person talks with one agent: its chat is private to that person. */
export const channel_threads = pgTable(
  'channel_threads',
  {
    id: id(),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The vendor's ids; '' where a conversation is not in threads. */
    conversation: text().notNull(),
    thread: text().notNull(),
    /** Chosen here; null: the channel's. */
    agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    /** Null until something is said to the agent. */
    chat_id: uuid().references(() => chats.id, { onDelete: 'set null' }),
    /** The person's last message, which answers in a group refer to. */
    last_message: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('channel_threads_place').on(t.channel_id, t.conversation, t.thread, t.user_id),
    index('channel_threads_chat').on(t.chat_id),
    index('channel_threads_user').on(t.user_id),
    index('channel_threads_updated_at').on(t.updated_at),
  ],
);

/** What came from the vendor, stored before it is acknowledged. The rows stay for some days: a repeat is known by them. */
export const channel_inbox = pgTable(
  'channel_inbox',
  {
    id: id(),
    seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    /** The vendor's number of it. */
    external_id: text().notNull(),
    /** Null once it was dealt with. */
    payload: jsonb(),
    status: text().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    error: text(),
    next_attempt_at: instant().default(sql`now()`),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('channel_inbox_external').on(t.channel_id, t.external_id),
    index('channel_inbox_pending')
      .on(t.channel_id, t.seq)
      .where(sql`status = 'pending'`),
    index('channel_inbox_created_at').on(t.created_at),
  ],
);

/** What is to be said. Rows of one conversation go out in order. */
export const channel_outbox = pgTable(
  'channel_outbox',
  {
    id: id(),
    seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    /** Whom it is for; null: somebody who is not paired. Without a pairing it is not sent. */
    user_id: uuid(),
    conversation: text().notNull(),
    thread: text().notNull().default(''),
    /** `notice`, `reply`, `approval`, `outcome` (an approval that was sent is settled). */
    kind: text().notNull(),
    /** Once per channel, whoever asks for it again. */
    dedupe_key: text().notNull(),
    /** Markdown; null: that of the chat message. */
    body: text(),
    chat_message_id: uuid(),
    /** Of an approval: which one, as it was at `approval_version`. */
    approval_id: uuid(),
    approval_version: instant(),
    /** The vendor's id of the message that it answers or changes. */
    reply_to: text(),
    status: text().notNull().default('pending'),
    /** Of a long text: how many pieces are out. */
    sent_parts: integer().notNull().default(0),
    external_id: text(),
    attempts: integer().notNull().default(0),
    error: text(),
    next_attempt_at: instant().default(sql`now()`),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    uniqueIndex('channel_outbox_once').on(t.channel_id, t.dedupe_key),
    index('channel_outbox_pending')
      .on(t.channel_id, t.seq)
      .where(sql`status = 'pending'`),
    index('channel_outbox_due')
      .on(t.next_attempt_at)
      .where(sql`status = 'pending'`),
    index('channel_outbox_approval')
      .on(t.approval_id)
      .where(sql`approval_id is not null`),
    index('channel_outbox_created_at').on(t.created_at),
  ],
);

/** One-time codes by which a person proves to a bot who he is; hash only. */
export const channel_pairing_codes = pgTable(
  'channel_pairing_codes',
  {
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    code_hash: text().notNull().unique('channel_pairing_codes_hash'),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.channel_id, t.user_id] }),
    index('channel_pairing_codes_expires_at').on(t.expires_at),
    index('channel_pairing_codes_user').on(t.user_id),
  ],
);

/** Who wrote to a bot without being paired: told so once, and bounded in guessing codes. */
export const channel_strangers = pgTable(
  'channel_strangers',
  {
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    external_id: text().notNull(),
    /** Wrong codes since `created_at`. */
    failures: integer().notNull().default(0),
    created_at: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.channel_id, t.external_id] }),
    index('channel_strangers_created_at').on(t.created_at),
  ],
);
