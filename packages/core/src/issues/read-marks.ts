/**
 * What a reader (a user or a board-user key) has read (decisions 3, Inbox): everything of a company that happened up to the
 * reader's mark, and single issues by rows of their own. Nothing depends on how many issues there are that nobody has touched
 * since the mark.
 */
import type { Actor, Issue } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { actorId, humanActor } from '../activity/index.ts';
import { presentIssue } from './present.ts';
import { type IssueRow, notTrashed, readIssues, shownIssue } from './rows.ts';

const { issue_reads } = schema;

/**
 * Whether the reader wrote the comment `c`. That of a key has no author: only its activity says which key it was, and readers are users
 * for the most part, so that is asked last.
 */
const isOwn = (reader: string): SQL => sql`(c.author_user_id is not distinct from ${reader}::uuid
  or (c.author_user_id is null and c.author_agent_id is null and exists (
    select from activity a where a.entity_id = c.id and a.action = 'comment.created' and a.actor_id = ${reader}::uuid)))`;

/** The last time something happened to the issue `i`, ignoring the reader's comments. Comments don't update their issue's row. */
export const lastHappening = (reader: string): SQL => sql`greatest(i.updated_at, coalesce((
  select max(c.created_at) from comments c
  where c.issue_id = i.id and not ${isOwn(reader)}), i.updated_at))`;

/** Whether the row `r` of an issue is stronger than the mark: a snooze that lasts or was not yet looked at after it was over. */
export const isPutOff: SQL = sql`r.snoozed_until > r.read_at`;

/**
 * A snooze that is over without having begun: so an issue is marked as unread, whatever the mark says.
 * The millisecond: columns store the nearest, which may be ahead of the clock.
 */
export const unreadNow = {
  read_at: sql`'epoch'::timestamptz`,
  snoozed_until: sql`now() - interval '1 millisecond'`,
};
/** Tells the row `r` of an issue marked as unread from that of one whose snooze is over. */
export const isMarkedUnread: SQL = sql`r.read_at = 'epoch'`;

/** Whether the reader, with that mark, has read the issue `i`. */
const isRead = (reader: string, mark: SQL): SQL => sql`(
  exists (select from issue_reads r where r.reader_id = ${reader}::uuid and r.issue_id = i.id
    and r.read_at >= ${lastHappening(reader)}
    and (r.snoozed_until is null or r.snoozed_until > now() or r.snoozed_until <= r.read_at))
  or (i.updated_at <= ${mark} and ${lastHappening(reader)} <= ${mark} and not exists (
    select from issue_reads r where r.reader_id = ${reader}::uuid and r.issue_id = i.id and ${isPutOff})))`;

/**
 * Ids of issues that may be unread although their rows did not change since the instant: those commented on since then, and those
 * put off. The company's activity has each comment under its time, so comments need no index for this; activity that is no
 * longer kept is made up for by looking at all issues.
 */
const besideChanged = (reader: string, company_id: string, since: SQL): SQL => sql`
  select (a.details->>'issue_id')::uuid from activity a
  where a.company_id = ${company_id}::uuid and a.entity_type = 'comment' and a.created_at > ${since}
    and a.action = 'comment.created'
  union select r.issue_id from issue_reads r where r.reader_id = ${reader}::uuid and ${isPutOff}
  union select a.id from issues a where a.company_id = ${company_id}::uuid and a.deleted_at is null
    and exists (select from instance_settings where key = 'activity_retention_days'
      and ${since} < now() - make_interval(days => value::int))`;

/** The issues `i` with these ids, each found by its own: the planner would rather look through all of the company, in order. */
const issuesNamed = (ids: SQL): SQL => sql`
  (${ids}) named (id) cross join lateral (select * from issues where issues.id = named.id offset 0) i`;

const lastChangedFirst: SQL = sql`order by i.updated_at desc nulls last, i.id desc nulls last`;

/**
 * `with` parts ending in `unread`, the ids of the first unread issues: those changed after the mark, in the order of their index,
 * and only if these are too few, the others.
 * @param mark a value, not an expression: by how near it is the planner chooses indexes
 * @param shown a condition on the issue `i`
 */
export function unreadIds(reader: string, company_id: string, mark: SQL, shown: SQL, limit: number): SQL {
  const isUnread = sql`i.company_id = ${company_id}::uuid and ${shown} and not ${isRead(reader, mark)}`;
  return sql`changed as materialized (
    select i.id from issues i where i.updated_at > ${mark} and ${isUnread} ${lastChangedFirst} limit ${limit}
  ), others as materialized (
    select i.id from ${issuesNamed(besideChanged(reader, company_id, mark))}
    where ${mark} > '-infinity' and i.updated_at <= ${mark} and ${isUnread}
    ${lastChangedFirst} limit (select ${limit}::int - count(*) from changed)
  ), unread as (select id from changed union all select id from others)`;
}

/**
 * The company's issues that changed, or were commented on by someone else, since the reader read them, and those whose snooze
 * is over; last changed first. An issue never read is unread.
 */
export async function unreadBy(tx: Tx, actor: Actor, company_id: string, limit: number): Promise<Issue[]> {
  const reader = readerOf(actor);
  const { rows: marks } = await tx.execute<Mark>(sql`
    select read_to::text from read_marks where reader_id = ${reader} and company_id = ${company_id}`);
  const rows = await readIssues(
    tx,
    sql`with ${unreadIds(reader, company_id, valueOf(marks[0]), notTrashed('i'), limit)}
        select ${shownIssue} from ${issuesNamed(sql`select id from unread`)} ${lastChangedFirst}`,
  );
  return rows.map(presentIssue);
}

interface Mark extends Record<string, unknown> {
  read_to: string | null;
}

const valueOf = (mark: Mark | undefined): SQL => sql`${mark?.read_to ?? '-infinity'}::timestamptz`;

type Subject = Pick<IssueRow, 'id' | 'company_id'>;

/** From now on only later activity is unread. */
export async function markIssueRead(tx: Tx, actor: Actor, issue: Subject): Promise<void> {
  const reader = readerOf(actor);
  await lockMark(tx, reader, issue.company_id);
  await readOneByOne(tx, reader, sql`issues i where i.id = ${issue.id}`);
}

export async function markIssueUnread(tx: Tx, actor: Actor, issue: Subject): Promise<void> {
  const reader_id = readerOf(actor);
  await lockMark(tx, reader_id, issue.company_id);
  await tx
    .insert(issue_reads)
    .values({ reader_id, issue_id: issue.id, ...unreadNow })
    .onConflictDoUpdate({ target: [issue_reads.reader_id, issue_reads.issue_id], set: unreadNow });
}

/** Snoozed issues stay snoozed. */
export async function markAllRead(tx: Tx, actor: Actor, company_id: string): Promise<void> {
  const reader = readerOf(actor);
  await lockMark(tx, reader, company_id);
  const settled = await settledInstant(tx);
  // What the mark does not cover.
  const uncovered = sql`
    select a.id from issues a where a.company_id = ${company_id} and a.deleted_at is null and a.updated_at > ${settled}
    union ${besideChanged(reader, company_id, settled)}`;
  await readOneByOne(
    tx,
    reader,
    sql`${issuesNamed(uncovered)} where i.company_id = ${company_id} and ${notTrashed('i')}`,
  );
  await moveMark(tx, reader, company_id, settled);
}

/**
 * Rows for the issues `i` that `which` selects from, as of what happened to them last: a comment that is being written meanwhile
 * will be newer. Of a snooze, only what is still to come remains.
 */
async function readOneByOne(tx: Tx, reader: string, which: SQL): Promise<void> {
  await tx.execute(sql`
    insert into issue_reads (reader_id, issue_id, read_at)
    select ${reader}::uuid, i.id, ${lastHappening(reader)} from ${which} order by i.id
    on conflict (reader_id, issue_id) do update set read_at = excluded.read_at,
      snoozed_until = case when issue_reads.snoozed_until > now() then issue_reads.snoozed_until end`);
}

/**
 * Sequential per reader and company: one who clicks during `settleReads` is not overruled by what it saw before.
 * @returns the mark
 */
export async function lockMark(tx: Tx, reader: string, company_id: string): Promise<SQL> {
  const { rows } = await tx.execute<Mark>(sql`
    insert into read_marks as m (reader_id, company_id) values (${reader}, ${company_id})
    on conflict (reader_id, company_id) do update set read_to = m.read_to returning read_to::text`);
  return valueOf(rows[0]);
}

export async function moveMark(tx: Tx, reader: string, company_id: string, to: SQL): Promise<void> {
  await tx.execute(sql`update read_marks set read_to = greatest(read_to, ${to})
    where reader_id = ${reader} and company_id = ${company_id}`);
}

/**
 * An instant before which nothing can happen any more. Rows carry the beginning of their transaction, so one that is still open may
 * commit what is older than now: a mark has to lie before the oldest. The two seconds are for one that has just begun and is not
 * reported yet. All processes connect as the same role, whose sessions PostgreSQL shows to each other.
 */
export async function settledInstant(tx: Tx): Promise<SQL> {
  const { rows } = await tx.execute<{ settled: string }>(sql`
    select (date_trunc('milliseconds', least(clock_timestamp() - interval '2 seconds', min(xact_start)))
      - interval '1 millisecond')::text as settled
    from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`);
  return sql`${rows[0]!.settled}::timestamptz`;
}

export function readerOf(actor: Actor): string {
  const id = actorId(actor);
  if (!humanActor(actor) || id === null) throw forbidden('only people have read marks');
  return id;
}
