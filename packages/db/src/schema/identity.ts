import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';

export const users = pgTable(
  'users',
  {
    id: id(),
    email: text().notNull(),
    display_name: text().notNull(),
    password_hash: text(),
    instance_role: text().notNull().default('member'),
    is_active: boolean().notNull().default(true),
    last_login_at: instant(),
    slack_user_id: text(),
    telegram_user_id: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [uniqueIndex('users_email').on(sql`lower(${t.email})`)],
);

/** Browser sessions; the cookie's token is stored as its SHA-256 only. */
export const sessions = pgTable(
  'sessions',
  {
    id: id(),
    token_hash: text().notNull().unique('sessions_token_hash'),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [index('sessions_user').on(t.user_id), index('sessions_expires_at').on(t.expires_at)],
);

/** Failed logins of the last 15 minutes, by e-mail and address: the lockout's memory, shared by all web processes. */
export const login_failures = pgTable(
  'login_failures',
  {
    id: id(),
    email: text().notNull(),
    address: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    index('login_failures_email').on(t.email, t.created_at),
    index('login_failures_created_at').on(t.created_at),
  ],
);

/** One-time tokens of the `/setup` page; hash only. */
export const setup_tokens = pgTable('setup_tokens', {
  token_hash: text().primaryKey(),
  created_at: createdAt(),
  expires_at: instant().notNull(),
});

/** Sign-in by an outside provider: the user behind its subject. Tokens are encrypted, or not stored at all. */
export const oauth_accounts = pgTable(
  'oauth_accounts',
  {
    id: id(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** `google`, `github`, `oidc`. */
    provider: text().notNull(),
    issuer: text().notNull(),
    subject: text().notNull(),
    tokens_sealed: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('oauth_accounts_subject').on(t.provider, t.issuer, t.subject),
    index('oauth_accounts_user').on(t.user_id),
  ],
);

/** A user's chat identities that were paired; deactivating the user ends them. */
export const chat_pairings = pgTable(
  'chat_pairings',
  {
    id: id(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    channel: text().notNull(),
    external_id: text().notNull(),
    created_at: createdAt(),
    revoked_at: instant(),
  },
  (t) => [index('chat_pairings_user').on(t.user_id)],
);
