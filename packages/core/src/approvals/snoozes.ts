/** Pending approvals that a reader (a user or a board-user key) has put off; for everyone else they keep waiting. */
import type { Actor, Approval, SnoozedApproval } from '@acp/contract';
import { containing, readWithinBytes, schema, type Tx } from '@acp/db';
import { enqueue } from '@acp/queue';
import { and, asc, desc, eq, inArray, lte, ne, not, type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { readerOf } from '../issues/index.ts';
import { approvalColumns, type ApprovalRow, presentApproval } from './present.ts';
import { notPending } from './resolve-approval.ts';

const { approval_snoozes, approvals } = schema;

type Subject = Pick<ApprovalRow, 'id' | 'company_id' | 'status'>;

/** @throws conflict unless it waits for a decision */
export async function snoozeApproval(
  tx: Tx,
  actor: Actor,
  approval: Subject,
  minutes: number,
): Promise<void> {
  if (approval.status !== 'pending') throw notPending(approval);
  const reader_id = readerOf(actor);
  const until = sql`now() + make_interval(mins => ${minutes})`;
  const [row] = await tx
    .insert(approval_snoozes)
    .values({ reader_id, approval_id: approval.id, snoozed_until: until })
    .onConflictDoUpdate({
      target: [approval_snoozes.reader_id, approval_snoozes.approval_id],
      set: { snoozed_at: sql`now()`, snoozed_until: until },
    })
    .returning();
  // Slightly later, so that the snooze is over by every clock.
  const start_after = new Date(row!.snoozed_until.getTime() + 1000);
  await enqueue(tx, 'wake-snoozed', { approval_id: approval.id, reader_id }, { start_after });
  await recordChanges(tx, actor, [inboxChanged(approval, reader_id)]);
}

export async function unsnoozeApproval(tx: Tx, actor: Actor, approval: Subject): Promise<void> {
  const reader_id = readerOf(actor);
  const ended = await tx
    .delete(approval_snoozes)
    .where(and(eq(approval_snoozes.reader_id, reader_id), eq(approval_snoozes.approval_id, approval.id)))
    .returning();
  if (ended.length > 0) await recordChanges(tx, actor, [inboxChanged(approval, reader_id)]);
}

/**
 * Removes all snoozes of the reader that are over, as they no longer hide anything, and notifies the reader's pages of each: the job of
 * another one finds nothing then, as it does if the snooze was extended or ended early.
 */
export async function announceApprovalSnoozeEnds(tx: Tx, reader_id: string): Promise<void> {
  const over = await tx
    .delete(approval_snoozes)
    .where(and(eq(approval_snoozes.reader_id, reader_id), lte(approval_snoozes.snoozed_until, sql`now()`)))
    .returning();
  const ids = over.map(({ approval_id }) => approval_id);
  const waiting = await tx
    .select()
    .from(approvals)
    .where(and(inArray(approvals.id, ids), eq(approvals.status, 'pending')));
  await recordChanges(
    tx,
    systemActor('inbox'),
    waiting.map((approval) => inboxChanged(approval, reader_id)),
  );
}

const inboxChanged = ({ id, company_id }: Subject, reader_id: string): Change => ({
  company_id,
  entity_type: 'approval',
  entity_id: id,
  event: { type: 'inbox_changed', data: { approval_id: id, reader_id } },
});

/** Whether the snooze hides its approval: until it is over, or somebody else comments or changes the approval. */
const hides = sql`${approval_snoozes.snoozed_until} > now() and ${approval_snoozes.snoozed_at} >= ${approvals.updated_at}
  and not exists (select from approval_comments c where c.approval_id = ${approvals.id}
    and c.created_at > ${approval_snoozes.snoozed_at} and c.author_user_id is distinct from ${approval_snoozes.reader_id})`;

const isHidden = (reader_id: string): SQL => sql`exists (select from ${approval_snoozes}
  where ${approval_snoozes.reader_id} = ${reader_id} and ${approval_snoozes.approval_id} = ${approvals.id} and ${hides})`;

const pendingIn = (company_id: string): SQL =>
  and(eq(approvals.company_id, company_id), eq(approvals.status, 'pending'))!;

/** The number of approvals that wait for the reader, as an expression. */
export const countAsking = (reader_id: string, company_id: string): SQL<number> =>
  sql`(select count(*)::int from ${approvals} where ${pendingIn(company_id)} and not ${isHidden(reader_id)})`;

/** Pending approvals, except those the reader snoozed, newest first; long ones, as many as one response may carry. */
export async function approvalsAskingFor(
  tx: Tx,
  actor: Actor,
  company_id: string,
  limit: number,
): Promise<Approval[]> {
  const listed = tx
    .select(approvalColumns)
    .from(approvals)
    .where(and(pendingIn(company_id), not(isHidden(readerOf(actor)))))
    .orderBy(desc(approvals.created_at), desc(approvals.id))
    .limit(limit);
  return (await readWithinBytes(tx, listed)).rows.map(presentApproval);
}

/** The pending approval that follows another in the list, or else the list's first; not one that the reader snoozed. */
export async function nextAsking(
  tx: Tx,
  actor: Actor,
  { id, company_id, created_at }: Subject & { created_at: Date },
  q?: string,
): Promise<{ id: string; title: string } | undefined> {
  const [next] = await tx
    .select({ id: approvals.id, title: approvals.title })
    .from(approvals)
    .where(
      and(
        pendingIn(company_id),
        ne(approvals.id, id),
        not(isHidden(readerOf(actor))),
        containing(q, [approvals.title]),
      ),
    )
    .orderBy(
      desc(
        sql`(${approvals.created_at}, ${approvals.id}) < (${created_at.toISOString()}::timestamptz, ${id}::uuid)`,
      ),
      desc(approvals.created_at),
      desc(approvals.id),
    )
    .limit(1);
  return next;
}

/** What the reader has snoozed, soonest to return first; long ones, as many as one response may carry. */
export async function approvalsSnoozedBy(
  tx: Tx,
  actor: Actor,
  company_id: string,
  limit: number,
): Promise<SnoozedApproval[]> {
  const listed = tx
    .select({ ...approvalColumns, snoozed_until: approval_snoozes.snoozed_until })
    .from(approval_snoozes)
    .innerJoin(approvals, eq(approvals.id, approval_snoozes.approval_id))
    .where(and(eq(approval_snoozes.reader_id, readerOf(actor)), pendingIn(company_id), hides))
    .orderBy(asc(approval_snoozes.snoozed_until), asc(approvals.id))
    .limit(limit);
  const { rows } = await readWithinBytes(tx, listed);
  return rows.map(({ snoozed_until, ...row }) => ({ ...presentApproval(row), snoozed_until }));
}

/** Until when the reader has put off which of these approvals, by id. */
export async function snoozesOf(
  tx: Tx,
  actor: Actor,
  of: readonly { id: string; status: string }[],
): Promise<ReadonlyMap<string, Date>> {
  const ids = of.filter(({ status }) => status === 'pending').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const rows = await tx
    .select({ id: approvals.id, until: approval_snoozes.snoozed_until })
    .from(approval_snoozes)
    .innerJoin(approvals, eq(approvals.id, approval_snoozes.approval_id))
    .where(and(eq(approval_snoozes.reader_id, readerOf(actor)), inArray(approvals.id, ids), hides));
  return new Map(rows.map(({ id, until }) => [id, until]));
}
