import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, deletedAt, id, instant, updatedAt } from './columns.ts';
import { users } from './identity.ts';

export const companies = pgTable(
  'companies',
  {
    id: id(),
    name: text().notNull(),
    slug: text().notNull(),
    home_dir: text(),
    /** First three letters or digits of the slug, in upper case, fixed at creation (decisions 7.38). */
    identifier_prefix: text().notNull(),
    /** The previous release takes issue numbers from it: a trigger keeps it in sync with `issue_counters`. */
    next_issue_number: integer().notNull().default(1),
    /** Members, and instance admins, must have a second factor. */
    require_second_factor: boolean().notNull().default(false),
    default_worker_tags: jsonb().$type<string[]>().notNull().default([]),
    agent_default_adapter_type: text().notNull().default('llm'),
    agent_default_adapter_config: jsonb().notNull().default({}),
    agent_default_heartbeat_enabled: boolean().notNull().default(false),
    agent_default_heartbeat_interval_sec: integer().notNull().default(300),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    uniqueIndex('companies_slug')
      .on(t.slug)
      .where(sql`${t.deleted_at} is null`),
  ],
);

/** Next issue number of each company; created with its first issue. Separate from `companies`, whose rows others lock. */
export const issue_counters = pgTable('issue_counters', {
  company_id: uuid()
    .primaryKey()
    .references(() => companies.id, { onDelete: 'cascade' }),
  next: integer().notNull(),
});

export const memberships = pgTable(
  'memberships',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: text().notNull(),
    joined_at: createdAt(),
  },
  (t) => [
    uniqueIndex('memberships_company_user').on(t.company_id, t.user_id),
    index('memberships_user').on(t.user_id),
  ],
);

/** Keys of integrations: a board_user actor pinned to one company with a role. Only the SHA-256 is stored. */
export const board_user_keys = pgTable(
  'board_user_keys',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    role: text().notNull(),
    label: text(),
    key_hash: text().notNull().unique('board_user_keys_key_hash'),
    key_prefix: text().notNull(),
    /** Who answers for it: see `answerableUser`. */
    created_by_user_id: uuid(),
    last_used_at: instant(),
    /** Null: valid until revoked. */
    expires_at: instant(),
    /** When its upcoming expiry was announced. */
    expiry_warned_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    index('board_user_keys_created_by')
      .on(t.created_by_user_id)
      .where(sql`${t.created_by_user_id} is not null`),
    index('board_user_keys_expires_at')
      .on(t.expires_at)
      .where(sql`${t.expires_at} is not null`),
    index('board_user_keys_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);

/**
 * Invites; single use. The token is looked up by its hash, and shown to admins from its sealed form; without an encryption
 * key it is shown only once, at creation.
 */
export const invites = pgTable(
  'invites',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** Used by the previous release: always null, dropped by the next. */
    token: text().unique('invites_token'),
    token_hash: text().unique('invites_token_hash'),
    token_sealed: text(),
    role: text().notNull(),
    created_by: uuid(),
    expires_at: instant().notNull(),
    accepted_by: uuid(),
    accepted_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    index('invites_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('invites_expires_at')
      .on(t.expires_at)
      .where(sql`${t.accepted_at} is null`),
  ],
);

export const join_requests = pgTable(
  'join_requests',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    status: text().notNull().default('pending'),
    message: text(),
    resolved_by: uuid(),
    resolved_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('join_requests_pending')
      .on(t.company_id, t.user_id)
      .where(sql`${t.status} = 'pending'`),
    index('join_requests_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);

/** Stored files other than attachments: logos. The bytes are in the storage under `storage_key`. */
export const assets = pgTable(
  'assets',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    filename: text().notNull(),
    content_type: text().notNull(),
    size_bytes: integer().notNull(),
    storage_key: text().notNull(),
    uploaded_by_user_id: uuid(),
    created_at: createdAt(),
  },
  (t) => [index('assets_company').on(t.company_id)],
);

export const company_logos = pgTable('company_logos', {
  company_id: uuid()
    .primaryKey()
    .references(() => companies.id, { onDelete: 'cascade' }),
  asset_id: uuid().references(() => assets.id, { onDelete: 'set null' }),
  theme: text().notNull(),
  updated_at: updatedAt(),
});
