/**
 * Descriptions from before `issue_words`. Triggers write that table since; schedulers copy what is older, batch by batch. Until
 * they are done the search uses the index `issues_text`: its absence means that they are.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { inSteps, isMyStep, STEP_WAIT_MS } from './partition-steps.ts';
import type { Database } from './pool.ts';
import { transaction } from './transaction.ts';
import type { Tx } from './tx.ts';
import { waitBriefly } from './wait-briefly.ts';

/** Any number that no other lock has. */
const LOCK = 7_236_125_405;
const FIRST = '00000000-0000-0000-0000-000000000000';
const BATCH = 500;
/** Pause before another look at all issues, if some were being deleted. */
const SKIPPED_MS = 2000;

/** Condition: all words are in `issue_words`. */
export const WORDS_ARE_COPIED = sql`to_regclass('issues_text') is null`;

/**
 * Copies the words of all issues, in the order of their ids, then drops the index. Nothing is waited for, and an interrupted
 * process costs nothing but another look at the issues whose words are there already.
 */
export async function copyIssueWords(database: Database, signal: AbortSignal): Promise<void> {
  const { rows } = await database.db.execute<{ copied: boolean }>(sql`select ${WORDS_ARE_COPIED} as copied`);
  if (rows[0]?.copied === true) return;
  let skipped = false;
  for (let last = FIRST; !signal.aborted;) {
    const copied = await transaction(database, async (tx) => copyBatch(tx, last, BATCH));
    if (copied === null) return;
    skipped ||= copied.skipped;
    if (copied.last !== null) last = copied.last;
    else if (!skipped) return inSteps(database, signal, dropIndex);
    else {
      // Who was deleting them may have changed their mind.
      await delay(SKIPPED_MS, undefined, { signal }).catch(() => undefined);
      [last, skipped] = [FIRST, false];
    }
  }
}

/**
 * A description that changes meanwhile wins: its trigger has written the row, or waits for this one and overwrites it. An issue that
 * is being deleted is skipped, and one that is read here is deleted afterwards, along with its words.
 * @returns the id that the batch ended with, null if there was none after `last`; null if another process is copying
 */
export async function copyBatch(
  tx: Tx,
  last: string,
  batch: number,
): Promise<{ last: string | null; skipped: boolean } | null> {
  if (!(await isMyStep(tx, LOCK))) return null;
  const { rows } = await tx.execute<{ last: string | null; skipped: boolean }>(sql`
    with next as materialized (
      select i.id from issues i where i.id > ${last} order by i.id limit ${batch}
    ), older as materialized (
      select i.id, i.company_id, i.body_markdown from issues i where i.id in (select id from next) for key share skip locked
    ), copied as (
      insert into issue_words (issue_id, company_id, words)
      select o.id, o.company_id, to_tsvector('simple', searchable_text(o.body_markdown)) from older o
      where o.body_markdown <> '' and not exists (select from issue_words w where w.issue_id = o.id)
      on conflict do nothing
    )
    select (select id from next order by id desc limit 1) as last,
      (select count(*) from next) > (select count(*) from older) as skipped`);
  return rows[0]!;
}

async function dropIndex(tx: Tx): Promise<boolean> {
  if (!(await isMyStep(tx, LOCK))) return false;
  await waitBriefly(tx, STEP_WAIT_MS);
  await tx.execute(sql`drop index if exists issues_text`);
  return false;
}
