import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, id, instant } from './columns.ts';
import { issues } from './issues.ts';

/** A council on an issue. Every transaction that advances it locks its row. */
export const council_sessions = pgTable(
  'council_sessions',
  {
    id: id(),
    company_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    question: text().notNull(),
    status: text().notNull().default('running'),
    /** Maximum number of answer rounds. */
    rounds: integer().notNull(),
    /** Current phase: `answer` of a round, `ranking` or `conclusion`. */
    phase: text().notNull().default('answer'),
    round: integer().notNull().default(1),
    /** Length of the chain of agent-made causes behind it; 0 if a human convened it. */
    depth: integer().notNull(),
    conclusion: text(),
    error: text(),
    convened_by_agent_id: uuid(),
    convened_by_user_id: uuid(),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    uniqueIndex('council_sessions_running')
      .on(t.issue_id)
      .where(sql`${t.status} = 'running'`),
    index('council_sessions_issue').on(t.issue_id, t.created_at.desc(), t.id.desc()),
    index('council_sessions_company_running')
      .on(t.company_id)
      .where(sql`${t.status} = 'running'`),
  ],
);

export const council_participants = pgTable(
  'council_participants',
  {
    session_id: uuid()
      .notNull()
      .references(() => council_sessions.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    agent_id: uuid().notNull(),
    /** Position by the reporting tree, highest first: the first member still present chairs. */
    place: integer().notNull(),
    /** Copied when the council began: its contributions stay readable when the agent is gone. */
    name: text().notNull(),
    role: text().notNull(),
    left_out_reason: text(),
  },
  (t) => [primaryKey({ columns: [t.session_id, t.agent_id] })],
);

/**
 * Turns, planned when the council begins: each has the id of the run that will take it, under which its money is
 * reserved, so that it is taken once however often it is requested.
 */
export const council_turns = pgTable(
  'council_turns',
  {
    session_id: uuid()
      .notNull()
      .references(() => council_sessions.id, { onDelete: 'cascade' }),
    company_id: uuid().notNull(),
    agent_id: uuid().notNull(),
    kind: text().notNull(),
    round: integer().notNull(),
    run_id: uuid().notNull(),
    /** `planned`, `asked` (its run is waiting or running), `done`, `failed`, `skipped`. */
    status: text().notNull().default('planned'),
    body_markdown: text(),
    is_revised: boolean().notNull().default(true),
    ranking: uuid().array(),
    error: text(),
    finished_at: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.session_id, t.agent_id, t.kind, t.round] }),
    uniqueIndex('council_turns_run').on(t.run_id),
    // Recent cost of an agent's turns.
    index('council_turns_agent')
      .on(t.agent_id, t.finished_at.desc())
      .where(sql`${t.status} = 'done'`),
  ],
);
