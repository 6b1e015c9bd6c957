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

/** Where events of a company are sent to (decisions 10.17). */
export const webhooks = pgTable(
  'webhooks',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** One that tells of a task of the agent-to-agent protocol alone; null: of the company's events. */
    issue_id: uuid().references(() => issues.id, { onDelete: 'cascade' }),
    /** Of those: the client's name for it, the dialect that it reads, and a digest of what it was told last. */
    config_id: text(),
    dialect: text(),
    told: text(),
    url: text().notNull(),
    events: jsonb().notNull(),
    secret_sealed: text().notNull(),
    enabled: boolean().notNull().default(true),
    disabled_reason: text(),
    /** Events up to this number happened before it was there, or while it was off. */
    from_seq: bigint({ mode: 'number' }).notNull(),
    /** Attempts in a row that failed, and since when none has succeeded. */
    failures: integer().notNull().default(0),
    failing_since: instant(),
    last_delivered_at: instant(),
    /** Null: nothing waits. */
    next_attempt_at: instant(),
    /** Whoever delivers holds it; a lapsed one is anybody's. */
    lease_id: uuid(),
    lease_until: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('webhooks_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
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
    /** The event's number: deliveries of a webhook go out in its order. */
    seq: bigint({ mode: 'number' }).notNull(),
    event_id: uuid().notNull(),
    event_type: text().notNull(),
    /** JSON, byte for byte as it is signed and sent. */
    body: text().notNull(),
    status: text().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    response_status: integer(),
    error: text(),
    /** Its day of attempts begins here: when it was made, or asked for again. */
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
