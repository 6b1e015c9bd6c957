import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';

export const users = pgTable(
  'users',
  {
    id: id(),
    email: text().notNull(),
    /** When the address was verified: by an operator, a provider or a mailed link. Null: only its owner claims it. */
    email_verified_at: instant().default(sql`now()`),
    display_name: text().notNull(),
    password_hash: text(),
    instance_role: text().notNull().default('member'),
    is_active: boolean().notNull().default(true),
    last_login_at: instant(),
    slack_user_id: text(),
    telegram_user_id: text(),
    /** Display preferences of the user; absent keys have the general default. */
    preferences: jsonb()
      .$type<{ theme?: 'light' | 'dark'; density?: 'compact'; time_zone?: string; language?: string }>()
      .notNull()
      .default({}),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    // The collation folds only ASCII letters: under Unicode rules two distinct addresses could become one.
    uniqueIndex('users_email').on(sql`lower(${t.email} collate "C")`),
    index('users_created_at').on(t.created_at.desc(), t.id.desc()),
  ],
);

/** Browser sessions; the cookie's token is stored only as its SHA-256. */
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
    /** Written outside the request, in batches: accurate to about a minute. */
    last_seen_at: createdAt(),
    /** Sign-in method: `password`, `google`, `passkey` …; null: from before it was recorded. */
    method: text(),
    /** Client address and browser of the sign-in. */
    address: text(),
    user_agent: text(),
    /** Challenge to be signed by a passkey that is being added. */
    passkey_challenge: text(),
  },
  (t) => [index('sessions_user').on(t.user_id), index('sessions_expires_at').on(t.expires_at)],
);

/** Failed logins of the last 15 minutes, by e-mail and address: the lockout state, shared by all web processes. */
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

/** One-time links in mails to users, by the SHA-256 of their token. */
export const account_links = pgTable(
  'account_links',
  {
    token_hash: text().primaryKey(),
    /** `confirm_email` (at most one per user) or `reset_password`. */
    purpose: text().notNull(),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The address it was sent to. For `confirm_email`: becomes the user's address if it differs. */
    email: text().notNull(),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [index('account_links_user').on(t.user_id), index('account_links_expires_at').on(t.expires_at)],
);

/**
 * Requests that send a mail to someone's account, kept for a day so that no one can make an instance send mail without
 * limit. A row without an answer is a forgotten password that no scheduler has handled yet.
 */
export const account_mails = pgTable(
  'account_mails',
  {
    id: id(),
    purpose: text().notNull(),
    /** As typed, in lower case; whether an account has it is not disclosed. */
    recipient: text().notNull(),
    /** The account it concerns, if the request was made by a signed-in user. */
    user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
    /** Client address of the request. */
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

/** Sign-in through an external provider: the user behind its subject. Tokens are encrypted, or not stored at all. */
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
 * Sign-ins in progress at a provider: what its response must match. The browser's cookie contains the token, this table
 * its SHA-256; the response deletes the row, so none is accepted twice.
 */
export const oauth_flows = pgTable(
  'oauth_flows',
  {
    token_hash: text().primaryKey(),
    provider: text().notNull(),
    state: text().notNull(),
    nonce: text().notNull(),
    code_verifier: text().notNull(),
    /** Hash of the token of the invite that the sign-in will accept. */
    invite_token: text(),
    /** Path on this site that the browser was heading for. */
    next_path: text(),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [index('oauth_flows_expires_at').on(t.expires_at)],
);
