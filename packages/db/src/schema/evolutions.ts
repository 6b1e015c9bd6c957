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

/** The evolution of an agent's prompt. Its row is locked by whatever moves it on, after the agent's. */
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
    /** Of a version that was activated by itself: `watching`, `kept`, `rolled_back`, `superseded`. */
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

/** Finished issues of the agent that candidates are tried on. Nothing of them is copied: one that is gone counts no more. */
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
    /** `train`: its rollouts are reflected on. `held_out`: it only scores. */
    split: text().notNull(),
    /** The agent's first run on it began: what was said before was its task, what came after its outcome. */
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
    /** Train issues that it is written for, and has to be better on than its parent. */
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

/** What an evolution has asked for so far, each by a run: what is `done` is never asked for again. */
export const evolution_steps = pgTable(
  'evolution_steps',
  {
    evolution_id: uuid()
      .notNull()
      .references(() => prompt_evolutions.id, { onDelete: 'cascade' }),
    candidate_number: integer().notNull(),
    kind: text().notNull(),
    /** Of the instance; -1 for a reflection, which is about several. */
    ordinal: integer().notNull(),
    run_id: uuid().notNull(),
    /** `asked` (its run waits or runs), `done`, `failed`. */
    status: text().notNull().default('asked'),
    attempts: integer().notNull().default(1),
    /** What was said: the rollout with its verbs, the judge's feedback. */
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
