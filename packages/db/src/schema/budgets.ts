import { index, integer, numeric, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id } from './columns.ts';

/** What a run or an outside report spent. Money is numeric, never float. */
export const cost_events = pgTable(
  'cost_events',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid(),
    run_id: uuid(),
    issue_id: uuid(),
    project_id: uuid(),
    provider: text().notNull(),
    model: text().notNull(),
    input_tokens: integer().notNull(),
    output_tokens: integer().notNull(),
    cached_tokens: integer().notNull(),
    cost_usd: numeric({ precision: 18, scale: 8 }).notNull(),
    occurred_at: createdAt(),
  },
  (t) => [
    index('cost_events_company').on(t.company_id, t.occurred_at.desc(), t.id.desc()),
    index('cost_events_agent').on(t.agent_id, t.occurred_at),
    index('cost_events_project').on(t.project_id, t.occurred_at),
  ],
);
