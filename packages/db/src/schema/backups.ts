import { sql } from 'drizzle-orm';
import { bigint, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant, updatedAt } from './columns.ts';

/** Backups of the instance, one at a time. A row outlives its file by nothing: retention removes both. */
export const backups = pgTable(
  'backups',
  {
    id: id(),
    status: text().notNull(),
    trigger: text().notNull(),
    /** What a running one is doing. */
    phase: text(),
    /** Name in the store of backups; null while it has none. */
    file: text(),
    /** Of the file; of a running one what was read so far. */
    bytes: bigint({ mode: 'number' }).notNull().default(0),
    error: text(),
    claimed_by: text().notNull(),
    started_at: instant().notNull(),
    finished_at: instant(),
    /** A running one says every few seconds that it is still being made. */
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('backups_running')
      .on(t.status)
      .where(sql`status = 'running'`),
    index('backups_started_at').on(t.started_at.desc(), t.id.desc()),
  ],
);
