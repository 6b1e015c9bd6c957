import { boolean, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { companies } from './companies.ts';
import { goals } from './goals.ts';
import { createdAt, deletedAt, id, updatedAt } from './columns.ts';

export const projects = pgTable(
  'projects',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text(),
    status: text().notNull().default('active'),
    goal_id: uuid().references(() => goals.id, { onDelete: 'set null' }),
    lead_agent_id: uuid().references(() => agents.id, { onDelete: 'set null' }),
    repo_url: text(),
    file_backend: text().notNull().default('local'),
    module_endpoint: text(),
    /** Null: the repository's default branch. */
    base_branch: text(),
    branch_template: text(),
    /** Name of the company's secret that is passed to git and to the API of the repository's host. */
    repo_secret: text(),
    setup_command: text(),
    check_command: text(),
    env: jsonb().$type<Record<string, string>>().notNull().default({}),
    push_after_run: boolean().notNull().default(false),
    close_on_merge: boolean().notNull().default(true),
    /** Days that the folder of a closed issue is kept. */
    workspace_days: integer().notNull().default(7),
    default_worker_tags: jsonb().$type<string[]>().notNull().default([]),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    index('projects_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('projects_goal').on(t.goal_id),
    index('projects_lead').on(t.lead_agent_id),
  ],
);
