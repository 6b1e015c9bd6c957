import { integer, pgTable, primaryKey, real, text } from 'drizzle-orm/pg-core';
import { instant, updatedAt } from './columns.ts';

/** Tick counters of the schedulers' timers and consumers, stored every 10 s: what `/readyz` of every role reports. */
export const scheduler_ticks = pgTable(
  'scheduler_ticks',
  {
    scheduler: text().notNull(),
    worker: text().notNull(),
    ticks: integer().notNull(),
    errors: integer().notNull(),
    started_at: instant().notNull(),
    updated_at: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.scheduler, t.worker] })],
);

/** Schedulers, each with how it is. One that stops takes its row along: what falls silent instead was lost. */
export const scheduler_processes = pgTable('scheduler_processes', {
  scheduler: text().primaryKey(),
  started_at: instant().notNull(),
  /** Of the fullest of the file systems that it lives on. */
  disk_used_pct: real(),
  updated_at: updatedAt(),
});
