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
import { chat_messages, chats } from './chats.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { users } from './identity.ts';

/** A thread in which a person talks to one agent; its chat is private to that person. */
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
    /** The vendor's ids; '' if the conversation has no threads. */
    conversation: text().notNull(),
    thread: text().notNull(),
    /** The agent chosen for this thread; null: the channel's. */
    agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    /** Null until the agent has received a message. */
    chat_id: uuid().references(() => chats.id, { onDelete: 'set null' }),
    /** The person's last message, which replies in a group refer to. */
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

/** Events from the vendor, stored before they are acknowledged. Rows stay for some days, to detect repeats. */
export const channel_inbox = pgTable(
  'channel_inbox',
  {
    id: id(),
    seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    /** The vendor's id of the event. */
    external_id: text().notNull(),
    /** Null once it has been processed. */
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

/** Outgoing messages. Rows of one conversation are sent in order. */
export const channel_outbox = pgTable(
  'channel_outbox',
  {
    id: id(),
    seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    /** The recipient; null: someone who is not paired. Without a pairing it is not sent. */
    user_id: uuid(),
    conversation: text().notNull(),
    thread: text().notNull().default(''),
    /** `notice`, `reply`, `approval`, `outcome` (an approval that was sent has been settled). */
    kind: text().notNull(),
    /** Unique per channel, however often it is enqueued. */
    dedupe_key: text().notNull(),
    /** Markdown; null: the text of the chat message. */
    body: text(),
    chat_message_id: uuid(),
    /** The question that it answers: `channel_drafts` may name messages that show the reply's beginning already. */
    question_id: uuid(),
    /** Set for an approval: its id, in the state of `approval_version`. */
    approval_id: uuid(),
    approval_version: instant(),
    /** The vendor's id of the message it replies to or edits. */
    reply_to: text(),
    status: text().notNull().default('pending'),
    /** Number of parts of a long text already sent. */
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

/** Messages at the vendor that show a reply in progress; the final text replaces theirs. */
export const channel_drafts = pgTable(
  'channel_drafts',
  {
    /** The question: the reply itself has no row yet. */
    question_id: uuid()
      .primaryKey()
      .references(() => chat_messages.id, { onDelete: 'cascade' }),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    /** The vendor's ids, one for each part of a long text, in order. */
    parts: text().array().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    index('channel_drafts_channel').on(t.channel_id),
    index('channel_drafts_created_at').on(t.created_at),
  ],
);

/** One-time codes by which people prove their identity to a bot; hash only. */
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

/** Unpaired people who wrote to a bot: told about pairing once, and limited in guessing codes. */
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
