/**
 * Totals per day, which charts and summaries read instead of every run and cost event of a month (ADR 58). A trigger adds a row for each
 * cost event and each run that ends; a scheduler merges the rows of a day. At any time, the sum over the rows is the total.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';

const count = () => bigint({ mode: 'number' }).notNull();
const merged = () => boolean().notNull().default(false);
const sums = () => ({
  cost_usd: numeric({ precision: 24, scale: 8 }).notNull(),
  /** The part of `cost_usd` that is computed with built-in prices. */
  estimated_usd: numeric({ precision: 24, scale: 8 }).notNull(),
  input_tokens: count(),
  output_tokens: count(),
  runs: integer().notNull(),
});

/** Cost events of a day (UTC) that have the same agent, project and model. */
export const cost_days = pgTable(
  'cost_days',
  {
    company_id: uuid().notNull(),
    day: date().notNull(),
    agent_id: uuid(),
    project_id: uuid(),
    model: text().notNull(),
    ...sums(),
    merged: merged(),
  },
  (t) => [
    index('cost_days_company').on(t.company_id, t.day, t.agent_id),
    index('cost_days_agent').on(t.agent_id, t.day),
    index('cost_days_unmerged')
      .on(t.company_id, t.day)
      .where(sql`not ${t.merged}`),
    index('cost_days_day').using('brin', t.day),
  ],
);

/**
 * The merged rows of `cost_days` of a day, summed up by one of their columns: far fewer rows than there are combinations of agent, project
 * and model. Triggers keep them up to date, whoever merges or deletes rows.
 */
export const cost_day_sums = pgTable(
  'cost_day_sums',
  {
    company_id: uuid().notNull(),
    dimension: text().$type<'agent' | 'project' | 'model'>().notNull(),
    day: date().notNull(),
    /** The id or model; empty if there is none. */
    key: text().notNull(),
    ...sums(),
  },
  (t) => [
    primaryKey({ columns: [t.company_id, t.dimension, t.day, t.key] }),
    index('cost_day_sums_day').using('brin', t.day),
  ],
);

/** Runs that were created on a day (UTC) and have ended. */
export const run_days = pgTable(
  'run_days',
  {
    company_id: uuid().notNull(),
    day: date().notNull(),
    runs: integer().notNull(),
    succeeded: integer().notNull(),
    failed: integer().notNull(),
    merged: merged(),
  },
  (t) => [
    index('run_days_company').on(t.company_id, t.day),
    index('run_days_unmerged')
      .on(t.company_id, t.day)
      .where(sql`not ${t.merged}`),
    index('run_days_day').using('brin', t.day),
  ],
);

/** From which day on `cost_days` and `run_days` are complete; older days are to be read from the events and runs themselves. */
export const day_totals = pgTable('day_totals', {
  name: text().primaryKey(),
  complete_from: date().notNull(),
});
