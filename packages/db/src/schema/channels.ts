import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';

/** A company's connection to Slack or Telegram. Leased by one scheduler at a time. */
export const channels = pgTable(
  'channels',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** `slack` or `telegram`. */
    kind: text().notNull(),
    /** `${secret:NAME}`, like `app_token`, which Slack's socket mode needs. */
    bot_token: text().notNull(),
    app_token: text(),
    /** Answers when no one has chosen an agent. */
    default_agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    /** Group conversations in which the bot answers, by the vendor's ids. */
    groups: text().array().notNull().default([]),
    /** Other groups that recently addressed it, for the admin who may allow them: `{id, title}`. */
    refused_groups: jsonb().$type<{ id: string; title: string }[]>().notNull().default([]),
    /** Kinds of knowledge that prompts of its chats may contain. */
    knowledge: text().array().notNull().default([]),
    enabled: boolean().notNull().default(true),
    /** `connecting`, `connected`, `failing` (see `last_error`), `refused`: the vendor rejects the tokens. */
    status: text().notNull().default('connecting'),
    last_error: text(),
    failing_since: instant(),
    /** The vendor's id of the bot. */
    bot_id: text(),
    bot_name: text(),
    /** When anything last arrived from the vendor, including keep-alives. */
    last_seen_at: instant(),
    /** Telegram only: the number following the last update of this bot that is stored here. */
    update_offset: bigint({ mode: 'number' }).notNull().default(0),
    /** Lease owner; an expired lease may be taken by anyone. */
    held_by: text(),
    lease_until: createdAt(),
    fence: bigint({ mode: 'number' }).notNull().default(0),
    /** Incremented by each change that requires a new connection. */
    revision: integer().notNull().default(1),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('channels_company_name').on(t.company_id, t.name),
    index('channels_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('channels_claimable')
      .on(t.lease_until)
      .where(sql`enabled`),
  ],
);
