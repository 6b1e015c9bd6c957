import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, instant } from './columns.ts';
import { issues } from './issues.ts';

/** Agents spawned by agents, each for one issue. All those below one ordinary agent, the root, form a tree. */
export const subagents = pgTable(
  'subagents',
  {
    agent_id: uuid()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    root_agent_id: uuid().notNull(),
    parent_agent_id: uuid().notNull(),
    /** The issue the parent was working on, and the child issue that the sub-agent was spawned for. */
    parent_issue_id: uuid().notNull(),
    issue_id: uuid().notNull(),
    /** How it ended: `done`, `failed`, `cancelled`, `deleted`; null while it is active. */
    outcome: text(),
    /** Its final message on its issue, for the parent's prompt. */
    result: text(),
    created_at: createdAt(),
    ended_at: instant(),
  },
  (t) => [
    uniqueIndex('subagents_issue').on(t.issue_id),
    index('subagents_parent_issue').on(t.parent_issue_id),
    index('subagents_parent').on(t.parent_agent_id, t.created_at),
    index('subagents_root').on(t.root_agent_id),
    index('subagents_living')
      .on(t.root_agent_id)
      .where(sql`${t.ended_at} is null`),
    index('subagents_ended')
      .on(t.ended_at)
      .where(sql`${t.ended_at} is not null`),
  ],
);

/** Issues parked until their agent's sub-agents finish. The row is deleted when the agent is woken. */
export const subagent_waits = pgTable(
  'subagent_waits',
  {
    issue_id: uuid()
      .primaryKey()
      .references(() => issues.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    root_agent_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    /** Waits for descendants of its sub-agents too. */
    recursive: boolean().notNull(),
    /** Agent-made causes behind the waiting run: the wakeup adds one. */
    depth: integer().notNull(),
    created_at: createdAt(),
  },
  (t) => [index('subagent_waits_root').on(t.root_agent_id), index('subagent_waits_agent').on(t.agent_id)],
);
