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
import { companies } from './companies.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { issues } from './issues.ts';

/** Endpoints that a company's events are sent to (decisions 10.17). */
export const webhooks = pgTable(
  'webhooks',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** Set if it reports only on a task of the agent-to-agent protocol; null: on the company's events. */
    issue_id: uuid().references(() => issues.id, { onDelete: 'cascade' }),
    /** The key of the client that asked for it: nothing is sent once that key has ended. */
    key_id: uuid(),
    /** Set for those: the client's name for it, the dialect it reads, and a digest of the last notification. */
    config_id: text(),
    dialect: text(),
    told: text(),
    url: text().notNull(),
    events: jsonb().notNull(),
    secret_sealed: text().notNull(),
    /** Who chose its URL or its secret last. */
    created_by_user_id: uuid(),
    enabled: boolean().notNull().default(true),
    disabled_reason: text(),
    /** Events up to this number happened before it existed, or while it was off. */
    from_seq: bigint({ mode: 'number' }).notNull(),
    /** Consecutive failed attempts, and since when none has succeeded. */
    failures: integer().notNull().default(0),
    failing_since: instant(),
    last_delivered_at: instant(),
    /** Null: nothing is waiting. */
    next_attempt_at: instant(),
    /** Lease of the process that delivers; an expired one may be taken by anyone. */
    lease_id: uuid(),
    lease_until: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('webhooks_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('webhooks_created_by')
      .on(t.created_by_user_id)
      .where(sql`${t.created_by_user_id} is not null`),
    uniqueIndex('webhooks_issue')
      .on(t.issue_id, t.config_id)
      .where(sql`issue_id is not null`),
    index('webhooks_due')
      .on(t.next_attempt_at)
      .where(sql`enabled and next_attempt_at is not null`),
  ],
);

export const webhook_deliveries = pgTable(
  'webhook_deliveries',
  {
    id: id(),
    company_id: uuid().notNull(),
    webhook_id: uuid()
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    /** The event's number: deliveries of a webhook are sent in this order. */
    seq: bigint({ mode: 'number' }).notNull(),
    event_id: uuid().notNull(),
    event_type: text().notNull(),
    /** JSON, byte for byte as it is signed and sent. */
    body: text().notNull(),
    status: text().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    response_status: integer(),
    error: text(),
    /** Start of its day of attempts: when it was created, or requested again. */
    queued_at: createdAt(),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    index('webhook_deliveries_webhook').on(t.webhook_id, t.created_at.desc(), t.id.desc()),
    index('webhook_deliveries_pending')
      .on(t.webhook_id, t.seq)
      .where(sql`status = 'pending'`),
    index('webhook_deliveries_finished')
      .on(t.finished_at)
      .where(sql`finished_at is not null`),
    index('webhook_deliveries_company').on(t.company_id),
    index('webhook_deliveries_tasks')
      .on(t.company_id, t.created_at.desc(), t.id.desc())
      .where(sql`event_type = 'a2a.task'`),
  ],
);
