/** Issues that a reader (a user or a board-user key) has put off; they return at their time, or when something happens to them. */
import type { Actor, SnoozedIssue } from '@acp/contract';
import { schema, type Tx, withinBytes } from '@acp/db';
import { enqueue } from '@acp/queue';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { presentIssue } from './present.ts';
import { isMarkedUnread, lastHappening, markIssueRead, readerOf } from './read-marks.ts';
import { type IssueRow, longColumns, notTrashed, shownIssue, toIssueRow } from './rows.ts';

const { issue_reads } = schema;

/** Snoozes the issue for the given number of minutes from now; a job notifies open pages when they are over. */
export async function snoozeIssue(
  tx: Tx,
  actor: Actor,
  issue: Pick<IssueRow, 'id' | 'company_id'>,
  minutes: number,
): Promise<void> {
  const reader_id = readerOf(actor);
  await markIssueRead(tx, actor, issue);
  const [row] = await tx
    .update(issue_reads)
    .set({ snoozed_until: sql`now() + make_interval(mins => ${minutes})` })
    .where(and(eq(issue_reads.reader_id, reader_id), eq(issue_reads.issue_id, issue.id)))
    .returning();
  const payload = { issue_id: issue.id, reader_id };
  // Slightly later, so that the snooze is over by every clock.
  const start_after = new Date(row!.snoozed_until!.getTime() + 1000);
  await enqueue(tx, 'wake-snoozed', payload, { start_after });
  await recordChanges(tx, actor, [inboxChanged(issue, reader_id)]);
}

/** Notifies the reader's pages that the snooze is over; does nothing if it was extended or cancelled. */
export async function announceSnoozeEnd(tx: Tx, issue_id: string, reader_id: string): Promise<void> {
  const { rows } = await tx.execute<{ id: string; company_id: string }>(sql`
    select i.id, i.company_id from issue_reads r join issues i on i.id = r.issue_id
    where r.reader_id = ${reader_id} and r.issue_id = ${issue_id} and r.snoozed_until <= now()
      and not ${isMarkedUnread} and ${notTrashed('i')}`);
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

/** Whether the reader has snoozed the issue `i`, and nothing has happened to it since. */
export const isSnoozed = (reader: string): SQL => sql`exists (select from issue_reads r
  where r.reader_id = ${reader} and r.issue_id = i.id and r.snoozed_until > now() and r.read_at >= ${lastHappening(reader)})`;

/** What the reader has snoozed, soonest to return first. */
export async function snoozedBy(
  tx: Tx,
  actor: Actor,
  company_id: string,
  limit: number,
): Promise<SnoozedIssue[]> {
  const reader = readerOf(actor);
  const snoozed = sql`
    select ${shownIssue}, s.snoozed_until from issue_reads s join issues i on i.id = s.issue_id
    where s.reader_id = ${reader} and s.snoozed_until > now() and i.company_id = ${company_id} and ${notTrashed('i')}
      and ${isSnoozed(reader)}
    order by s.snoozed_until, i.id limit ${limit}`;
  const { rows } = await tx.execute(withinBytes(snoozed, longColumns));
  return rows.map((row) => ({
    ...presentIssue(toIssueRow(row)),
    snoozed_until: new Date(String(row.snoozed_until)),
  }));
}
