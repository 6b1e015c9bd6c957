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

/** Schedulers and their health. One that stops deletes its row; one that falls silent is considered lost. */
export const scheduler_processes = pgTable('scheduler_processes', {
  scheduler: text().primaryKey(),
  started_at: instant().notNull(),
  /** Usage of the fullest of its file systems. */
  disk_used_pct: real(),
  updated_at: updatedAt(),
});
