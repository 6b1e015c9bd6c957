import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';

export const users = pgTable(
  'users',
  {
    id: id(),
    email: text().notNull(),
    /** Since when somebody vouches for the address: an operator, or a provider that has verified it. Null: its owner's word. */
    email_verified_at: instant().default(sql`now()`),
    display_name: text().notNull(),
    password_hash: text(),
    instance_role: text().notNull().default('member'),
    is_active: boolean().notNull().default(true),
    last_login_at: instant(),
    slack_user_id: text(),
    telegram_user_id: text(),
    /** How pages look to the user; what is absent is as it is for everybody. */
    preferences: jsonb()
      .$type<{ theme?: 'light' | 'dark'; density?: 'compact'; time_zone?: string; language?: string }>()
      .notNull()
      .default({}),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    // The collation folds ASCII letters alone: by Unicode's rules two addresses would be one.
    uniqueIndex('users_email').on(sql`lower(${t.email} collate "C")`),
    index('users_created_at').on(t.created_at.desc(), t.id.desc()),
  ],
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
    /** Written off the request, in batches: exact to about a minute. */
    last_seen_at: createdAt(),
    /** How it was signed in: `password`, `google`, `passkey` …; null: before it was written down. */
    method: text(),
    /** Where the sign-in came from, and by which browser. */
    address: text(),
    user_agent: text(),
    /** What a passkey that is being added has to sign. */
    passkey_challenge: text(),
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

/** One-time links that mails to people bring, by the SHA-256 of their token. */
export const account_links = pgTable(
  'account_links',
  {
    token_hash: text().primaryKey(),
    /** `confirm_email`, of which a user has one at most, or `reset_password`. */
    purpose: text().notNull(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Whom it went to. Of `confirm_email`: where it is not the user's address, it becomes that. */
    email: text().notNull(),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [index('account_links_user').on(t.user_id), index('account_links_expires_at').on(t.expires_at)],
);

/**
 * What was asked for that sends a mail to somebody's account, for a day: so that nobody has an instance write without an
 * end. A row without an answer is a forgotten password that a scheduler has not looked at yet.
 */
export const account_mails = pgTable(
  'account_mails',
  {
    id: id(),
    purpose: text().notNull(),
    /** As it was typed, in lower case; whether an account has it is not said. */
    recipient: text().notNull(),
    /** Whose account it is about, where somebody signed in has asked. */
    user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
    /** From where it was asked. */
    address: text(),
    user_agent: text(),
    created_at: createdAt(),
    answered_at: instant(),
    sent: boolean().notNull().default(false),
  },
  (t) => [
    index('account_mails_recipient').on(t.recipient, t.created_at),
    index('account_mails_user').on(t.user_id, t.created_at),
    index('account_mails_address').on(t.address, t.created_at),
    index('account_mails_created_at').on(t.created_at),
  ],
);

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

/**
 * Sign-ins that are under way at a provider: what its answer must match. The browser's cookie holds the token, its
 * SHA-256 stands here; the row is deleted by the answer, so that none counts twice.
 */
export const oauth_flows = pgTable(
  'oauth_flows',
  {
    token_hash: text().primaryKey(),
    provider: text().notNull(),
    state: text().notNull(),
    nonce: text().notNull(),
    code_verifier: text().notNull(),
    /** The invite that the sign-in shall accept, by its token's hash. */
    invite_token: text(),
    /** The path of ours that the browser was on its way to. */
    next_path: text(),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [index('oauth_flows_expires_at').on(t.expires_at)],
);
