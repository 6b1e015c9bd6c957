/** What a reader (a user or a board-user key) has read (decisions 3, Inbox). */
import type { Actor, Issue } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { actorId, humanActor } from '../activity/index.ts';
import { presentIssue } from './present.ts';
import { notTrashed, readIssues, shownIssue } from './rows.ts';

const { issue_reads } = schema;

/** From now on only later activity is unread. */
export async function markIssueRead(tx: Tx, actor: Actor, issue: { id: string }): Promise<void> {
  await tx
    .insert(issue_reads)
    .values({ reader_id: readerOf(actor), issue_id: issue.id })
    .onConflictDoUpdate({
      target: [issue_reads.reader_id, issue_reads.issue_id],
      set: { read_at: sql`now()` },
    });
}

export async function markIssueUnread(tx: Tx, actor: Actor, issue: { id: string }): Promise<void> {
  await tx
    .delete(issue_reads)
    .where(and(eq(issue_reads.reader_id, readerOf(actor)), eq(issue_reads.issue_id, issue.id)));
}

/** The last time something happened to the issue `i`, ignoring the reader's comments. Comments don't update their issue's row. */
export const lastHappening = (reader: string): SQL => sql`greatest(i.updated_at, coalesce((
  select max(c.created_at) from comments c
  where c.issue_id = i.id and c.author_user_id is distinct from ${reader}::uuid), i.updated_at))`;

const isUnread = (reader: string): SQL => sql`not exists (select from issue_reads r
  where r.reader_id = ${reader} and r.issue_id = i.id and r.read_at >= ${lastHappening(reader)}
    and (r.snoozed_until is null or r.snoozed_until > now() or r.read_at >= r.snoozed_until))`;

/**
 * The company's issues that changed, or were commented on by someone else, since the reader read them, and those whose snooze
 * is over; last changed first. An issue never read is unread.
 */
export async function unreadBy(tx: Tx, actor: Actor, company_id: string, limit: number): Promise<Issue[]> {
  const rows = await readIssues(
    tx,
    sql`select ${shownIssue} from issues i where i.company_id = ${company_id} and ${notTrashed('i')}
        and ${isUnread(readerOf(actor))} order by i.updated_at desc nulls last, i.id desc nulls last limit ${limit}`,
  );
  return rows.map(presentIssue);
}

/** Snoozed issues stay snoozed. */
export async function markAllRead(tx: Tx, actor: Actor, company_id: string): Promise<void> {
  const reader = readerOf(actor);
  await tx.execute(sql`
    insert into issue_reads (reader_id, issue_id)
    select ${reader}::uuid, i.id from issues i
    where i.company_id = ${company_id} and ${notTrashed('i')} and ${isUnread(reader)}
    order by i.id
    on conflict (reader_id, issue_id) do update set read_at = now()`);
}

export function readerOf(actor: Actor): string {
  const id = actorId(actor);
  if (!humanActor(actor) || id === null) throw forbidden('only people have read marks');
  return id;
}
