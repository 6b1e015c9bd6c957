/** What a reader, a user or a board-user key, has read (decisions 3, Inbox). */
import { type Actor, type IssueSummary } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { actorId, humanActor } from '../activity/index.ts';
import { summarizeIssue } from './present.ts';
import { notTrashed, selectIssues, shownIssue } from './rows.ts';

const { issue_reads } = schema;

/** From now on only what comes later is unread. */
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

/**
 * The company's issues that changed, or were commented by somebody else, since the reader read them; changed last comes
 * first. An issue never read is unread. Comments are looked at by themselves, since they leave their issue's row alone.
 */
export async function unreadBy(
  tx: Tx,
  actor: Actor,
  company_id: string,
  limit: number,
): Promise<IssueSummary[]> {
  const reader = readerOf(actor);
  const unread = sql`not exists (select from issue_reads r where r.reader_id = ${reader} and r.issue_id = i.id
    and r.read_at >= greatest(i.updated_at, coalesce((
      select max(c.created_at) from comments c
      where c.issue_id = i.id and c.author_user_id is distinct from ${reader}::uuid), i.updated_at)))`;
  const rows = await selectIssues(
    tx,
    sql`select ${shownIssue} from issues i where i.company_id = ${company_id} and ${notTrashed('i')} and ${unread}
        order by i.updated_at desc, i.id desc limit ${limit}`,
  );
  return rows.map(summarizeIssue);
}

function readerOf(actor: Actor): string {
  const id = actorId(actor);
  if (!humanActor(actor) || id === null) throw forbidden('only people read');
  return id;
}
