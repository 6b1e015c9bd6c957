/** What a reader (a user or a board-user key) has read (decisions 3, Inbox). */
import type { Actor, IssueSummary, SnoozedIssue } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { actorId, type Change, humanActor, recordChanges, systemActor } from '../activity/index.ts';
import { summarizeIssue } from './present.ts';
import { type IssueRow, notTrashed, selectIssues, shownIssue, toIssueRow } from './rows.ts';

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

/** Snoozes the issue for the given number of minutes from now; a job notifies open pages when they are over. */
export async function snoozeIssue(
  tx: Tx,
  actor: Actor,
  issue: Pick<IssueRow, 'id' | 'company_id'>,
  minutes: number,
): Promise<void> {
  const reader_id = readerOf(actor);
  const until = sql`now() + make_interval(mins => ${minutes})`;
  const [row] = await tx
    .insert(issue_reads)
    .values({ reader_id, issue_id: issue.id, snoozed_until: until })
    .onConflictDoUpdate({
      target: [issue_reads.reader_id, issue_reads.issue_id],
      set: { read_at: sql`now()`, snoozed_until: until },
    })
    .returning();
  const payload = { issue_id: issue.id, reader_id };
  // Slightly later, so that the snooze is over by every clock.
  const start_after = new Date(row!.snoozed_until!.getTime() + 1000);
  await enqueue(tx, 'wake-snoozed', payload, { start_after });
  await recordChanges(tx, actor, [inboxChanged(issue, reader_id)]);
}

/** Notifies the reader's pages that the snooze is over; does nothing if it was extended or cancelled. */
export async function announceWoken(tx: Tx, issue_id: string, reader_id: string): Promise<void> {
  const { rows } = await tx.execute<{ id: string; company_id: string }>(sql`
    select i.id, i.company_id from issue_reads r join issues i on i.id = r.issue_id
    where r.reader_id = ${reader_id} and r.issue_id = ${issue_id} and r.snoozed_until <= now() and ${notTrashed('i')}`);
  await recordChanges(
    tx,
    systemActor('inbox'),
    rows.map((issue) => inboxChanged(issue, reader_id)),
  );
}

const inboxChanged = (
  { id, company_id }: Pick<IssueRow, 'id' | 'company_id'>,
  reader_id: string,
): Change => ({
  company_id,
  entity_type: 'issue',
  entity_id: id,
  event: { type: 'inbox_changed', data: { issue_id: id, reader_id } },
});

/** The last time something happened to the issue `i`, ignoring the reader's comments. Comments don't update their issue's row. */
const lastHappening = (reader: string): SQL => sql`greatest(i.updated_at, coalesce((
  select max(c.created_at) from comments c
  where c.issue_id = i.id and c.author_user_id is distinct from ${reader}::uuid), i.updated_at))`;

/** Whether the reader has snoozed the issue `i`, and nothing has happened to it since. */
export const isSnoozed = (reader: string): SQL => sql`exists (select from issue_reads r
  where r.reader_id = ${reader} and r.issue_id = i.id and r.snoozed_until > now() and r.read_at >= ${lastHappening(reader)})`;

const isUnread = (reader: string): SQL => sql`not exists (select from issue_reads r
  where r.reader_id = ${reader} and r.issue_id = i.id and r.read_at >= ${lastHappening(reader)}
    and (r.snoozed_until is null or r.snoozed_until > now() or r.read_at >= r.snoozed_until))`;

/**
 * The company's issues that changed, or were commented on by someone else, since the reader read them, and those whose snooze
 * is over; last changed first. An issue never read is unread.
 */
export async function unreadBy(
  tx: Tx,
  actor: Actor,
  company_id: string,
  limit: number,
): Promise<IssueSummary[]> {
  const rows = await selectIssues(
    tx,
    sql`select ${shownIssue} from issues i where i.company_id = ${company_id} and ${notTrashed('i')}
        and ${isUnread(readerOf(actor))} order by i.updated_at desc nulls last, i.id desc nulls last limit ${limit}`,
  );
  return rows.map(summarizeIssue);
}

/** What the reader has snoozed, soonest to return first. */
export async function snoozedBy(
  tx: Tx,
  actor: Actor,
  company_id: string,
  limit: number,
): Promise<SnoozedIssue[]> {
  const reader = readerOf(actor);
  const { rows } = await tx.execute(sql`
    select ${shownIssue}, s.snoozed_until from issue_reads s join issues i on i.id = s.issue_id
    where s.reader_id = ${reader} and s.snoozed_until > now() and i.company_id = ${company_id} and ${notTrashed('i')}
      and ${isSnoozed(reader)}
    order by s.snoozed_until, i.id limit ${limit}`);
  return rows.map((row) => ({
    ...summarizeIssue(toIssueRow(row)),
    snoozed_until: new Date(String(row.snoozed_until)),
  }));
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
