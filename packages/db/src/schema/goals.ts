import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { companies } from './companies.ts';
import { createdAt, deletedAt, id, updatedAt } from './columns.ts';

export const goals = pgTable(
  'goals',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    parent_goal_id: uuid(),
    title: text().notNull(),
    description: text(),
    level: text().notNull().default('company'),
    status: text().notNull().default('active'),
    owner_agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    index('goals_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('goals_owner').on(t.owner_agent_id),
  ],
);
