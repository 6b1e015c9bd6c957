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

/** A company's connection to Slack or Telegram. One scheduler at a time holds it. */
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
    /** `${secret:NAME}`, as `app_token`, which Slack's socket mode needs. */
    bot_token: text().notNull(),
    app_token: text(),
    /** Who answers where nobody has chosen an agent. */
    default_agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    /** Conversations of several people in which the bot answers, by the vendor's ids. */
    groups: text().array().notNull().default([]),
    /** The last of the others in which it was spoken to, for the admin who may let them in: `{id, title}`. */
    refused_groups: jsonb().$type<{ id: string; title: string }[]>().notNull().default([]),
    /** Kinds of knowledge that prompts of its chats may hold. */
    knowledge: text().array().notNull().default([]),
    enabled: boolean().notNull().default(true),
    /** `connecting`, `connected`, `failing` (see `last_error`), `refused`: the vendor does not take the tokens. */
    status: text().notNull().default('connecting'),
    last_error: text(),
    failing_since: instant(),
    /** What the vendor calls the bot. */
    bot_id: text(),
    bot_name: text(),
    /** Anything came from the vendor, word that the line stands included. */
    last_seen_at: instant(),
    /** Of Telegram: the number behind the last update that is stored here. */
    update_offset: bigint({ mode: 'number' }).notNull().default(0),
    /** Whoever holds it; a lapsed lease is anybody's. */
    held_by: text(),
    lease_until: createdAt(),
    fence: bigint({ mode: 'number' }).notNull().default(0),
    /** Raised by each change that asks for another connection. */
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
