import { sql } from 'drizzle-orm';
import { bigint, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant, updatedAt } from './columns.ts';

/** Backups of the instance, one at a time. A row never outlives its file: retention removes both. */
export const backups = pgTable(
  'backups',
  {
    id: id(),
    /** `queued` ones are requested by people; the first free scheduler begins them. */
    status: text().notNull(),
    trigger: text().notNull(),
    /** Current step of a running backup. */
    phase: text(),
    /** Name in the backup store; null until it has one. */
    file: text(),
    /** Size of the file; for a running backup, bytes read so far. */
    bytes: bigint({ mode: 'number' }).notNull().default(0),
    error: text(),
    claimed_by: text().notNull(),
    started_at: instant().notNull(),
    finished_at: instant(),
    /** Refreshed every few seconds while the backup is running. */
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('backups_running')
      .on(t.status)
      .where(sql`status = 'running'`),
    uniqueIndex('backups_queued')
      .on(t.status)
      .where(sql`status = 'queued'`),
    index('backups_started_at').on(t.started_at.desc(), t.id.desc()),
  ],
);
