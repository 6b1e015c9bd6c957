import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { channels } from './channels.ts';
import { createdAt, id, updatedAt } from './columns.ts';

/** A conversation with one agent. Its row is locked by every transaction that adds to it. */
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
    /** The channel it takes place in, if not here; that channel decides which knowledge its prompts may contain. */
    channel_id: uuid().references(() => channels.id, { onDelete: 'set null' }),
    /** Private to this person; null: opened by a key and visible to the company. */
    created_by_user_id: uuid(),
    created_by_agent_id: uuid(),
    /** Number of the last message that asked something. */
    last_turn: integer().notNull().default(0),
    /** Summary of the conversation up to and including `summary_turn`; prompts contain it in place of those messages. */
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
 * The message of turn n has position 2n, its reply 2n + 1. The table has one more column than listed here: `words`, which
 * PostgreSQL generates from the text for full-text search (index `chat_messages_text`).
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
    /** `user` (the one who asks) or `assistant` (the agent of the chat). */
    role: text().notNull(),
    body_markdown: text().notNull(),
    /** Names and sizes of its files; the files are rows of `attachments` with the same lifetime as the message. */
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
    /** Length of the chain of agent-made causes behind it; 0 if a human asks. */
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
