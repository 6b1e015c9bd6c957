/** This release with migrations that a next one could bring: they change the tables and indexes in constant use. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const NEXT: readonly (readonly string[])[] = [
  // Every prepared statement that returns a whole row of these gets another result type.
  ['issues', 'heartbeat_runs', 'agents', 'companies'].map(
    (table) => `ALTER TABLE "${table}" ADD COLUMN "of_next_release" integer DEFAULT 7 NOT NULL`,
  ),
  [
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS "issues_next" ON "issues" ("company_id", "of_next_release", "id")',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS "heartbeat_runs_next" ON "heartbeat_runs" ("agent_id", "of_next_release", "id")',
  ],
  ['issues_company_updated', 'heartbeat_runs_agent'].map(
    (index) => `DROP INDEX CONCURRENTLY IF EXISTS "${index}"`,
  ),
];

interface Journal {
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

/** @returns how many migrations it added to the checkout */
export function addMigrations(checkout: string): number {
  const folder = path.join(checkout, 'drizzle');
  const file = path.join(folder, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(file, 'utf8')) as Journal;
  for (const statements of NEXT) {
    const last = journal.entries.at(-1)!;
    const idx = last.idx + 1;
    const tag = `${String(idx).padStart(4, '0')}_next`;
    writeFileSync(path.join(folder, `${tag}.sql`), statements.join(';--> statement-breakpoint\n'));
    journal.entries.push({ ...last, idx, tag, when: last.when + 1000 });
  }
  writeFileSync(file, JSON.stringify(journal));
  return NEXT.length;
}
