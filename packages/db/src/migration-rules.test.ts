import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrationsFolder } from '@acp/db';
import { faultsOfMigration } from './migration-rules.ts';

/** Migrations older than the rules. */
const BEFORE = '0059_';

describe('the migrations', () => {
  const files = readdirSync(migrationsFolder).filter((name) => name.endsWith('.sql') && name > BEFORE);

  it('let the release before them work on', () => {
    const faults = files.flatMap((name) =>
      faultsOfMigration(readFileSync(join(migrationsFolder, name), 'utf8')).map(
        (fault) => `${name}: ${fault}`,
      ),
    );
    expect(faults).toEqual([]);
  });

  it.each([
    'DROP TABLE "issues"',
    'truncate issues',
    'lock table issues in share mode',
    'ALTER TABLE "issues" DROP COLUMN "title"',
    'alter table issues rename column title to name',
    'alter table only public.issues rename to tasks',
    'ALTER TABLE "issues" ALTER COLUMN "title" SET DATA TYPE varchar(10)',
    'ALTER TABLE "issues" ALTER COLUMN "title" SET NOT NULL',
    'ALTER TABLE "issues" ADD COLUMN "size" integer NOT NULL',
    'ALTER TABLE "issues" ADD COLUMN "key" uuid DEFAULT gen_random_uuid()',
    'ALTER TABLE "issues" ADD CONSTRAINT "x" FOREIGN KEY ("a") REFERENCES "public"."agents"("id") ON DELETE cascade',
    'ALTER TABLE "issues" ADD CONSTRAINT "x" CHECK (a > 1)',
    'ALTER TABLE "issues" ADD CONSTRAINT "x" UNIQUE("a","b")',
    'CREATE INDEX "x" ON "issues" USING btree ("a")',
    'CREATE UNIQUE INDEX "x" ON "issues" USING btree ("a") WHERE a is not null',
    'create index concurrently x on issues (a)',
    'do $$ begin drop table issues; end $$',
  ])('are refused where they hold: %s', (statement) => {
    expect(faultsOfMigration(`-- a comment\n${statement};`)).toHaveLength(1);
  });

  it.each([
    'ALTER TABLE "issues" ADD COLUMN "size" integer',
    'ALTER TABLE "issues" ADD COLUMN "size" integer DEFAULT 0 NOT NULL',
    'ALTER TABLE "issues" ALTER COLUMN "title" DROP NOT NULL',
    'ALTER TABLE "issues" ADD CONSTRAINT "x" CHECK (a > 1) not valid',
    'ALTER TABLE "issues" ADD CONSTRAINT "x" UNIQUE USING INDEX "y"',
    'create index concurrently if not exists x on issues (a)',
    'CREATE TABLE "new" ("id" uuid);--> statement-breakpoint\nALTER TABLE "new" ADD CONSTRAINT "x" FOREIGN KEY ("a") REFERENCES "public"."agents"("id");\nCREATE INDEX "y" ON "new" USING btree ("a")',
    '-- allowed: nobody has rows of it\nDROP TABLE "gone"',
    'create or replace function f() returns void language plpgsql as $$ begin drop table issues; end $$',
  ])('are let pass where they hold: %s', (statement) => {
    expect(faultsOfMigration(statement)).toEqual([]);
  });

  it('may not mix what needs no transaction with what has one', () => {
    const faults = faultsOfMigration(
      'create index concurrently if not exists x on issues (a);--> statement-breakpoint\nalter table issues add column b int',
    );
    expect(faults).toEqual(['`concurrently` runs without a transaction: give it a migration of its own']);
  });
});
