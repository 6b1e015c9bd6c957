import { sql } from 'drizzle-orm';
import { index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { channels } from './channels.ts';
import { createdAt, id, instant } from './columns.ts';
import { users } from './identity.ts';

/** A user's paired chat identities; deactivating the user ends them, leaving a company those of its channels. */
export const chat_pairings = pgTable(
  'chat_pairings',
  {
    id: id(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The company's channel that knows the person: no other channel accepts the identity. */
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    /** `slack` or `telegram`. */
    channel: text().notNull(),
    external_id: text().notNull(),
    /** The person's name at the vendor. */
    external_name: text().notNull().default(''),
    /** What the person wants to be notified about. */
    notify: text().array().notNull().default([]),
    created_at: createdAt(),
    revoked_at: instant(),
  },
  (t) => [
    index('chat_pairings_user').on(t.user_id),
    index('chat_pairings_revoked')
      .on(t.revoked_at)
      .where(sql`revoked_at is not null`),
    uniqueIndex('chat_pairings_person')
      .on(t.channel_id, t.user_id)
      .where(sql`revoked_at is null`),
    uniqueIndex('chat_pairings_identity')
      .on(t.channel_id, t.external_id)
      .where(sql`revoked_at is null`),
    index('chat_pairings_company')
      .on(t.company_id)
      .where(sql`revoked_at is null`),
  ],
);
