import { sql } from 'drizzle-orm';
import {
  boolean,
  index,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';

/** Spend of a run, or reported from outside. Money is numeric, never float. */
export const cost_events = pgTable(
  'cost_events',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid(),
    /** Set for a sub-agent: the agents above it, whose budgets pay too. */
    rolled_up_to: uuid()
      .array()
      .notNull()
      .default(sql`'{}'`),
    run_id: uuid(),
    issue_id: uuid(),
    project_id: uuid(),
    provider: text().notNull(),
    model: text().notNull(),
    input_tokens: integer().notNull(),
    output_tokens: integer().notNull(),
    cached_tokens: integer().notNull(),
    cost_usd: numeric({ precision: 18, scale: 8 }).notNull(),
    /** No price was configured for the model, so the built-in one was used. */
    price_estimated: boolean().notNull().default(false),
    occurred_at: createdAt(),
  },
  (t) => [
    index('cost_events_company').on(t.company_id, t.occurred_at.desc(), t.id.desc()),
    index('cost_events_agent').on(t.agent_id, t.occurred_at),
    index('cost_events_project').on(t.project_id, t.occurred_at),
  ],
);

/** Model prices set by a company, in USD per million tokens; the operator's pricing file takes precedence. */
export const model_prices = pgTable(
  'model_prices',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    model: text().notNull(),
    input_usd: numeric({ precision: 16, scale: 9 }).notNull(),
    output_usd: numeric({ precision: 16, scale: 9 }).notNull(),
    /** Null: cached tokens cost the same as other input. */
    cached_usd: numeric({ precision: 16, scale: 9 }),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('model_prices_model').on(t.company_id, t.model),
    index('model_prices_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);

export const budget_policies = pgTable(
  'budget_policies',
  {
    id: id(),
    company_id: uuid().notNull(),
    scope_type: text().notNull(),
    scope_id: uuid().notNull(),
    window: text().notNull(),
    limit_usd: numeric({ precision: 18, scale: 8 }).notNull(),
    warn_percent: integer().notNull().default(80),
    action: text().notNull(),
    enabled: boolean().notNull().default(true),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('budget_policies_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('budget_policies_scope').on(t.scope_id),
  ],
);

/** Usage of a policy's window: settled spend and open reservations. One conditional UPDATE reserves. */
export const budget_windows = pgTable(
  'budget_windows',
  {
    policy_id: uuid()
      .notNull()
      .references(() => budget_policies.id, { onDelete: 'cascade' }),
    window_start: instant().notNull(),
    /** Wider than any amount: a sum that does not fit would keep the runs that it belongs to from ending. */
    spent_usd: numeric({ precision: 24, scale: 8 }).notNull().default('0'),
    reserved_usd: numeric({ precision: 24, scale: 8 }).notNull().default('0'),
  },
  (t) => [primaryKey({ columns: [t.policy_id, t.window_start] })],
);

/** A live run's open reservation in a policy's window and the spend it has settled there; deleted when the run ends. */
export const budget_reservations = pgTable(
  'budget_reservations',
  {
    id: id(),
    policy_id: uuid()
      .notNull()
      .references(() => budget_policies.id, { onDelete: 'cascade' }),
    run_id: uuid().notNull(),
    window_start: instant().notNull(),
    /** Reserved for the call in progress. */
    amount_usd: numeric({ precision: 18, scale: 8 }).notNull(),
    settled_usd: numeric({ precision: 18, scale: 8 }).notNull().default('0'),
    created_at: createdAt(),
  },
  (t) => [uniqueIndex('budget_reservations_run').on(t.run_id, t.policy_id, t.window_start)],
);

export const budget_incidents = pgTable(
  'budget_incidents',
  {
    id: id(),
    company_id: uuid().notNull(),
    policy_id: uuid()
      .notNull()
      .references(() => budget_policies.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    status: text().notNull().default('open'),
    spent_usd: numeric({ precision: 24, scale: 8 }).notNull(),
    limit_usd: numeric({ precision: 18, scale: 8 }).notNull(),
    window_start: instant().notNull(),
    opened_at: createdAt(),
    resolved_at: instant(),
    resolved_by_user_id: uuid(),
    /** Resolved without a higher limit: the breach is waived until the window rolls over. */
    waived: boolean().notNull().default(false),
    note: text(),
  },
  (t) => [
    uniqueIndex('budget_incidents_open')
      .on(t.policy_id, t.kind)
      .where(sql`${t.status} = 'open'`),
    index('budget_incidents_company').on(t.company_id, t.opened_at.desc(), t.id.desc()),
    // Each call of a model asks whether its policies are waived, or have been reported.
    index('budget_incidents_policy').on(t.policy_id, t.window_start),
  ],
);
