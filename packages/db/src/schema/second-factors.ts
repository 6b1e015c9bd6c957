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
import { createdAt, id, instant } from './columns.ts';
import { users } from './identity.ts';

const ofUser = () =>
  uuid()
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' });

/** The authenticator app of a user (TOTP). It counts once confirmed by a first code. */
export const user_totp = pgTable('user_totp', {
  user_id: uuid()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  secret_sealed: text().notNull(),
  confirmed_at: instant(),
  /** Number of the 30-second step whose code was used last: no code is accepted twice. */
  last_step: bigint({ mode: 'number' }).notNull().default(0),
  created_at: createdAt(),
});

/** One-time codes that replace a lost second factor, as SHA-256; using one deletes its row. */
export const recovery_codes = pgTable(
  'recovery_codes',
  { id: id(), user_id: ofUser(), code_hash: text().notNull(), created_at: createdAt() },
  (t) => [uniqueIndex('recovery_codes_code').on(t.user_id, t.code_hash)],
);

/** WebAuthn credentials: public keys, nothing secret. */
export const passkeys = pgTable(
  'passkeys',
  {
    id: id(),
    user_id: ofUser(),
    name: text().notNull(),
    credential_id: text().notNull().unique('passkeys_credential'),
    /** COSE key, base64url. */
    public_key: text().notNull(),
    counter: bigint({ mode: 'number' }).notNull(),
    transports: jsonb().$type<string[]>().notNull().default([]),
    /** Synchronised between devices by its vendor. */
    backed_up: boolean().notNull(),
    created_at: createdAt(),
    last_used_at: instant(),
  },
  (t) => [index('passkeys_user').on(t.user_id, t.created_at)],
);

/**
 * Sign-ins between the first step and the session: a password or provider was accepted and the second factor is due, or a
 * passkey has been requested. The browser's cookie contains the token, this table its SHA-256.
 */
export const sign_in_steps = pgTable(
  'sign_in_steps',
  {
    token_hash: text().primaryKey(),
    /** The user who passed the first step; null if a passkey is to identify the user. */
    user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
    /** Method of the first step: `password`, `google`, … */
    method: text().notNull(),
    /** Challenge that the passkey must sign. */
    challenge: text(),
    /** SHA-256 of the invite to accept with the sign-in. */
    invite_token: text(),
    next_path: text(),
    created_at: createdAt(),
    expires_at: instant().notNull(),
  },
  (t) => [
    index('sign_in_steps_expires_at').on(t.expires_at),
    index('sign_in_steps_user')
      .on(t.user_id)
      .where(sql`${t.user_id} is not null`),
  ],
);

/** Security log of accounts and keys, read by security teams. Ids outlive what they refer to. */
export const security_events = pgTable(
  'security_events',
  {
    id: id(),
    kind: text().notNull(),
    company_id: uuid(),
    user_id: uuid(),
    key_id: uuid(),
    /** The person or key as far as known: an address that was typed, a key's label. */
    subject: text().notNull(),
    address: text(),
    user_agent: text(),
    details: jsonb().notNull().default({}),
    created_at: createdAt(),
  },
  (t) => [
    index('security_events_created_at').on(t.created_at.desc(), t.id.desc()),
    index('security_events_kind').on(t.kind, t.created_at.desc(), t.id.desc()),
    index('security_events_user').on(t.user_id, t.created_at.desc(), t.id.desc()),
    index('security_events_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);

/** Addresses each key was used from: a new address is logged as an event. */
export const key_addresses = pgTable(
  'key_addresses',
  {
    key_id: uuid().notNull(),
    address: text().notNull(),
    uses: integer().notNull().default(1),
    first_used_at: createdAt(),
    last_used_at: createdAt(),
  },
  (t) => [
    uniqueIndex('key_addresses_key').on(t.key_id, t.address),
    index('key_addresses_last_used_at').on(t.last_used_at),
  ],
);
