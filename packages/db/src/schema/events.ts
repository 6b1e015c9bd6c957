import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';

/** Events of committed transactions that the sequencer has not numbered yet. Written together with the business rows. */
export const outbox = pgTable('outbox', {
  id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  event_id: uuid()
    .notNull()
    .default(sql`gen_random_uuid()`),
  company_id: uuid(),
  type: text().notNull(),
  data: jsonb().notNull(),
  occurred_at: createdAt(),
});

/** The instance-wide, gapless sequence of events; only `sequence_outbox` writes it. */
export const events = pgTable(
  'events',
  {
    seq: bigint({ mode: 'number' }).primaryKey(),
    id: uuid().notNull(),
    company_id: uuid(),
    type: text().notNull(),
    data: jsonb().notNull(),
    occurred_at: instant().notNull(),
  },
  (t) => [index('events_occurred_at').on(t.occurred_at)],
);

/** A single row: the last number assigned. */
export const event_sequence = pgTable(
  'event_sequence',
  {
    only_row: boolean().primaryKey().default(true),
    last: bigint({ mode: 'number' }).notNull().default(0),
  },
  (t) => [check('event_sequence_only_row', sql`${t.only_row}`)],
);

/** Durable cursors: the number up to which each reader has taken effect (decisions 10.12). */
export const event_cursors = pgTable(
  'event_cursors',
  {
    consumer: text().notNull(),
    name: text().notNull(),
    seq: bigint({ mode: 'number' }).notNull(),
    updated_at: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.consumer, t.name] })],
);

/** Awaited commands: a request of the web tier that a scheduler answers within its deadline (decisions 6). */
export const commands = pgTable(
  'commands',
  {
    id: id(),
    name: text().notNull(),
    company_id: uuid(),
    actor: jsonb().notNull(),
    payload: jsonb().notNull(),
    /** Storage key of the payload or the result if it is too large for the row. */
    payload_key: text(),
    result_key: text(),
    /** Only the scheduler that owns this lease may take the command; null: any. */
    lease: text(),
    status: text().notNull().default('queued'),
    deadline: instant().notNull(),
    result: jsonb(),
    error: jsonb(),
    claimed_by: text(),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    index('commands_created_at').on(t.created_at),
    index('commands_waiting_for_lease')
      .on(t.lease)
      .where(sql`status = 'queued' and lease is not null`),
  ],
);

/** Responses kept for `Idempotency-Key` (decisions 8.5); the row commits with the effect. */
export const idempotency_keys = pgTable(
  'idempotency_keys',
  {
    /** SHA-256 over actor, operation and key: one primary key, so tenants cannot collide. */
    scope_hash: text().primaryKey(),
    request_hash: text().notNull(),
    status: bigint({ mode: 'number' }),
    body: jsonb(),
    created_at: createdAt(),
  },
  (t) => [index('idempotency_keys_created_at').on(t.created_at)],
);
