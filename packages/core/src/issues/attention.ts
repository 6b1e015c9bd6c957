/** Flags by which an issue asks for someone else (decisions 5, needs-routing and await-input). */
import type { Actor, Issue } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { cutText, notFound } from '@acp/kernel';
import { and, eq, isNull } from 'drizzle-orm';
import { type Change, humanActor, recordChanges } from '../activity/index.ts';
import { blockedNotice } from './notices.ts';
import { attended, statusColumns, unblocked } from './policy.ts';
import { issueUpdated, presentIssue } from './present.ts';
import { changedNow, issueFields, type IssueRow } from './rows.ts';
import { lockIssue } from './unblock.ts';

const { issues } = schema;
const LONGEST_REASON_BYTES = 2048;

/** Requests a better-suited assignee; cleared by an assignment. The request's text is a comment, which the caller posts. */
export async function setNeedsRouting(tx: Tx, actor: Actor, subject: IssueRow): Promise<Issue> {
  const issue = await setFlags(tx, subject.id, { needs_routing: true });
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.needs_routing')]);
  return presentIssue(issue);
}

/** Blocks the issue until a human answers. The question is also a comment, which the caller posts. */
export async function awaitInput(
  tx: Tx,
  actor: Actor,
  subject: IssueRow,
  question: string | null,
): Promise<Issue> {
  const { issue: before } = await lockIssue(tx, subject.id, false);
  if (!before) throw notFound();
  const issue = await setFlags(tx, subject.id, {
    ...statusColumns('blocked', actor),
    status: 'blocked',
    awaiting_input: true,
    blocked_reason: question === null ? null : cutText(question, LONGEST_REASON_BYTES),
  });
  await recordChanges(tx, actor, [
    issueUpdated(issue, 'issue.awaiting_input', {
      changes: { status: { from: before.status, to: 'blocked' } },
    }),
    ...(await blockedNotice(tx, actor, before, issue)),
  ]);
  return presentIssue(issue);
}

interface HumanReply {
  issue: IssueRow;
  /** The comment answers a question that an agent had asked the humans. */
  answered: boolean;
  changes: Change[];
}

/**
 * Applies the effects of a human's comment to its issue (specification, Issue status): `resume_after` moves a blocked issue to
 * `in_progress`; a pending question counts as answered; the loop breaker is reset. Sends no statement if there is nothing to
 * do. The caller records the changes.
 */
export async function applyHumanReply(
  tx: Tx,
  actor: Actor,
  subject: IssueRow,
  options: { resume: boolean },
): Promise<HumanReply> {
  const idle = !subject.awaiting_input && subject.stalled_runs === 0 && !subject.needs_human_attention;
  if (!humanActor(actor) || (idle && !options.resume))
    return { issue: subject, answered: false, changes: [] };
  const { issue: before } = await lockIssue(tx, subject.id, false);
  if (!before) throw notFound();
  const resumes = options.resume && before.status === 'blocked';
  const issue = await setFlags(tx, before.id, {
    ...attended,
    awaiting_input: false,
    ...(resumes ? { ...unblocked, status: 'in_progress' } : {}),
  });
  const details = resumes ? { changes: { status: { from: 'blocked', to: 'in_progress' } } } : undefined;
  return {
    issue,
    answered: before.awaiting_input,
    changes: [issueUpdated(issue, resumes ? 'issue.resumed' : undefined, details)],
  };
}

type Flags = Parameters<ReturnType<Tx['update']>['set']>[0];

async function setFlags(tx: Tx, id: string, flags: Flags): Promise<IssueRow> {
  const [row] = await tx
    .update(issues)
    .set({ ...flags, updated_at: changedNow })
    .where(and(eq(issues.id, id), isNull(issues.deleted_at)))
    .returning(issueFields);
  if (!row) throw notFound();
  return row;
}
