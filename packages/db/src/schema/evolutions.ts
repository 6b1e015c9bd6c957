import { sql } from 'drizzle-orm';
import {
  doublePrecision,
  index,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { agents } from './agents.ts';
import { createdAt, id, instant } from './columns.ts';
import { issues } from './issues.ts';

/** The evolution of an agent's prompt. Every transaction that advances it locks its row, after the agent's. */
export const prompt_evolutions = pgTable(
  'prompt_evolutions',
  {
    id: id(),
    company_id: uuid().notNull(),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    status: text().notNull().default('running'),
    base_version_number: integer().notNull(),
    version_number: integer(),
    winner_number: integer(),
    max_rollouts: integer().notNull(),
    max_cost_usd: numeric({ precision: 18, scale: 8 }).notNull(),
    error: text(),
    waiting_reason: text(),
    promoted_at: instant(),
    /** Set on a version that was activated automatically: `watching`, `kept`, `rolled_back`, `superseded`. */
    watch: text(),
    watch_note: text(),
    started_by_agent_id: uuid(),
    started_by_user_id: uuid(),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    uniqueIndex('prompt_evolutions_running')
      .on(t.agent_id)
      .where(sql`${t.status} = 'running'`),
    index('prompt_evolutions_agent').on(t.agent_id, t.created_at.desc(), t.id.desc()),
    index('prompt_evolutions_watched')
      .on(t.promoted_at)
      .where(sql`${t.watch} = 'watching'`),
  ],
);

/** Finished issues of the agent that candidates are tried on. Nothing is copied: a deleted issue no longer counts. */
export const evolution_instances = pgTable(
  'evolution_instances',
  {
    evolution_id: uuid()
      .notNull()
      .references(() => prompt_evolutions.id, { onDelete: 'cascade' }),
    ordinal: integer().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    /** `train`: its rollouts are reflected on. `held_out`: used for scoring only. */
    split: text().notNull(),
    /** Start of the agent's first run on it: comments before it were the task, those after it the outcome. */
    began_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.evolution_id, t.ordinal] }),
    index('evolution_instances_issue').on(t.issue_id),
  ],
);

export const evolution_candidates = pgTable(
  'evolution_candidates',
  {
    evolution_id: uuid()
      .notNull()
      .references(() => prompt_evolutions.id, { onDelete: 'cascade' }),
    number: integer().notNull(),
    parent_number: integer(),
    status: text().notNull().default('proposed'),
    /** Train issues the candidate is written for, on which it must beat its parent. */
    minibatch: integer().array().notNull(),
    /** Null while it is being written. */
    system_prompt: text(),
    reason: text(),
    score: doublePrecision(),
    cost_usd: doublePrecision(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.evolution_id, t.number] })],
);

/** Requests an evolution has made so far, each through a run: a step that is `done` is never requested again. */
export const evolution_steps = pgTable(
  'evolution_steps',
  {
    evolution_id: uuid()
      .notNull()
      .references(() => prompt_evolutions.id, { onDelete: 'cascade' }),
    candidate_number: integer().notNull(),
    kind: text().notNull(),
    /** Number of the instance; -1 for a reflection, which covers several. */
    ordinal: integer().notNull(),
    run_id: uuid().notNull(),
    /** `asked` (its run is waiting or running), `done`, `failed`. */
    status: text().notNull().default('asked'),
    attempts: integer().notNull().default(1),
    /** The result: the rollout with its verbs, or the judge's feedback. */
    text: text(),
    score: doublePrecision(),
    cost_usd: numeric({ precision: 18, scale: 8 }).notNull().default('0'),
    error: text(),
    error_category: text(),
    finished_at: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.evolution_id, t.candidate_number, t.kind, t.ordinal] }),
    uniqueIndex('evolution_steps_run').on(t.run_id),
  ],
);
