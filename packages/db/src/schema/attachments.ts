import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { chat_messages } from './chats.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { issues } from './issues.ts';

/** Files of an issue or of a chat message: exactly one of the two. */
export const attachments = pgTable(
  'attachments',
  {
    id: id(),
    company_id: uuid().notNull(),
    issue_id: uuid().references(() => issues.id, { onDelete: 'cascade' }),
    /** Visible to whoever can see the chat; never part of the company's knowledge. */
    chat_message_id: uuid().references(() => chat_messages.id, { onDelete: 'cascade' }),
    filename: text().notNull(),
    content_type: text().notNull(),
    size_bytes: bigint({ mode: 'number' }).notNull(),
    storage_key: text().notNull().unique('attachments_storage_key'),
    sha256: text().notNull(),
    created_by_agent_id: uuid(),
    created_by_user_id: uuid(),
    created_at: createdAt(),
  },
  (t) => [
    index('attachments_issue').on(t.issue_id, t.created_at, t.id),
    index('attachments_chat_message')
      .on(t.chat_message_id)
      .where(sql`${t.chat_message_id} is not null`),
    check('attachments_one_place', sql`(${t.issue_id} is null) <> (${t.chat_message_id} is null)`),
  ],
);

/** Text of an attachment for agents' prompts, extracted by a scheduler after the upload. */
export const attachment_texts = pgTable(
  'attachment_texts',
  {
    attachment_id: uuid()
      .primaryKey()
      .references(() => attachments.id, { onDelete: 'cascade' }),
    /** Null in rows written by the previous release; the sweep fills it in. */
    company_id: uuid(),
    /** `pending`, `reading` (claimed by a scheduler), `done`, `none` (nothing to extract), `failed`. */
    status: text().notNull().default('pending'),
    /** When it joined its company's queue. */
    queued_at: createdAt(),
    /** Number of schedulers that died while reading it. */
    losses: integer().notNull().default(0),
    extracted_text: text(),
    error: text(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('attachment_texts_status').on(t.status, t.updated_at),
    index('attachment_texts_pending')
      .on(t.company_id, t.queued_at, t.attachment_id)
      .where(sql`${t.status} = 'pending'`),
  ],
);

/**
 * Storage keys that no row references (yet, or any more): inserted before the bytes are written, and by triggers when a row
 * of `attachments` or `assets` is deleted, by whichever path. The transaction that writes a row removes its key from here.
 * The sweep deletes the bytes of the remaining keys, so that rows and bytes agree again after any crash.
 */
export const storage_orphans = pgTable(
  'storage_orphans',
  {
    storage_key: text().primaryKey(),
    /** From then on the bytes may be deleted at any moment and no row may use the key any more. */
    doomed_at: instant(),
    created_at: createdAt(),
  },
  (t) => [index('storage_orphans_created_at').on(t.created_at)],
);
