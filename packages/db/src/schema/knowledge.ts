import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { updatedAt } from './columns.ts';
import { users } from './identity.ts';

/** What the agents of a company have learnt of a user who asks them for work. */
export const user_models = pgTable(
  'user_models',
  {
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    body_markdown: text().notNull(),
    updated_by_agent_id: uuid(),
    updated_at: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.company_id, t.user_id] }), index('user_models_user').on(t.user_id)],
);
