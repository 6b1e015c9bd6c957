import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { channels } from './channels.ts';
import { createdAt, id, updatedAt } from './columns.ts';

/** A conversation with one agent. Its row is locked by whoever adds to it. */
export const chats = pgTable(
  'chats',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    title: text(),
    channel: text().notNull().default('web'),
    /** Where it is held, unless that is here: what its prompts may know is that channel's to say. */
    channel_id: uuid().references(() => channels.id, { onDelete: 'set null' }),
    /** Private to this person; null: opened by a key, open to the company. */
    created_by_user_id: uuid(),
    created_by_agent_id: uuid(),
    /** The number of the last message that asked something. */
    last_turn: integer().notNull().default(0),
    /** What was said up to and with `summary_turn`, in short: it stands in prompts instead of the messages. */
    summary: text(),
    summary_turn: integer().notNull().default(0),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('chats_owner').on(t.company_id, t.created_by_user_id, t.updated_at.desc(), t.id.desc()),
    index('chats_open')
      .on(t.company_id, t.updated_at.desc(), t.id.desc())
      .where(sql`${t.created_by_user_id} is null`),
    index('chats_agent').on(t.agent_id),
    index('chats_channel')
      .on(t.channel_id)
      .where(sql`channel_id is not null`),
  ],
);

/**
 * The message of turn n has the position 2n, its reply 2n + 1. The table has one column more than this: `words`, which
 * PostgreSQL generates from the text for the search (index `chat_messages_text`).
 */
export const chat_messages = pgTable(
  'chat_messages',
  {
    id: id(),
    company_id: uuid().notNull(),
    chat_id: uuid()
      .notNull()
      .references(() => chats.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    /** `user` (whoever asks) or `assistant` (the agent of the chat). */
    role: text().notNull(),
    body_markdown: text().notNull(),
    /** What its files are called and how large they are; the files are rows of `attachments`, and live as long as this. */
    attachments: jsonb()
      .$type<{ id: string; filename: string; content_type: string; size_bytes: number }[]>()
      .notNull()
      .default([]),
    author_user_id: uuid(),
    author_agent_id: uuid(),
    author_name: text().notNull(),
    status: text().notNull(),
    error: text(),
    run_id: uuid(),
    /** Agent-made causes in a row behind it; 0 where a human asks. */
    depth: integer().notNull().default(0),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('chat_messages_position').on(t.chat_id, t.position),
    index('chat_messages_waiting')
      .on(t.chat_id, t.position)
      .where(sql`${t.status} in ('waiting', 'answering')`),
  ],
);
