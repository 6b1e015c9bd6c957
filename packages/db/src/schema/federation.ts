import { index, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id } from './columns.ts';
import { issues } from './issues.ts';

/** Issues that others filed by the agent-to-agent protocol: what they call a task. */
export const a2a_tasks = pgTable(
  'a2a_tasks',
  {
    issue_id: uuid()
      .primaryKey()
      .references(() => issues.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    /** To whom it was sent, whoever works on it now. */
    agent_id: uuid().notNull(),
    /** The client's conversation. */
    context_id: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index('a2a_tasks_context').on(t.agent_id, t.context_id, t.created_at.desc(), t.issue_id.desc())],
);

/** What clients sent, as they sent it: a task's history shows it under their own ids. */
export const a2a_messages = pgTable(
  'a2a_messages',
  {
    id: id(),
    company_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    agent_id: uuid().notNull(),
    message_id: text().notNull(),
    /** SHA-256 of the message: one that is sent again changes nothing, another of the same id is another. */
    digest: text().notNull(),
    parts: jsonb().notNull(),
    metadata: jsonb(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('a2a_messages_message').on(t.agent_id, t.message_id, t.digest),
    index('a2a_messages_issue').on(t.issue_id, t.created_at.desc(), t.id.desc()),
  ],
);
