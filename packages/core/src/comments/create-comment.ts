import type { Actor, Comment, CreateComment } from '@acp/contract';
import { fixedStatement, rowReader, together, type Tx, schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { actorColumns, type Change, recordChanges } from '../activity/index.ts';
import { applyHumanReply, type IssueRow } from '../issues/index.ts';
import { type RequestedWakeup, requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { findMentions, mentionInitials } from './mentions.ts';
import { commentEvent, presentComment } from './present.ts';

const { comments, agents } = schema;
const commentRow = rowReader(comments);

/** A written comment, and what is left for its transaction: `recordChanges`. */
interface WrittenComment {
  comment: Comment;
  changes: Change[];
  woken: RequestedWakeup[];
}

/** Wakes those whom a comment concerns. */
type Wake = (wakeups: WakeupRequest[]) => Promise<RequestedWakeup[]>;

/** Comments, wakes mentioned agents and the assignee (never the author), and applies a person's `resume_after`. */
export async function createComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateComment,
): Promise<Comment> {
  const { comment, changes } = await writeComment(tx, actor, issue, input);
  await recordChanges(tx, actor, changes);
  return comment;
}

/**
 * The comment without its activity, for a transaction that has more of it: the end of a run.
 * @param wake by default, the author wakes
 */
export async function writeComment(
  tx: Tx,
  actor: Actor,
  subject: IssueRow,
  input: CreateComment,
  wake: Wake = async (wakeups) => requestWakeups(tx, actor, wakeups),
): Promise<WrittenComment> {
  const mentioned = await mentionedAgents(tx, subject.company_id, input.body_markdown);
  // Before the insert: rows are locked in a fixed order, and a comment's foreign key would only share the issue's lock.
  const { issue, answered, changes } = await applyHumanReply(tx, actor, subject, {
    resume: input.resume_after ?? false,
  });
  const id = newId();
  const wakeup = (agentId: string, reason: WakeupRequest['reason']): WakeupRequest => ({
    company_id: issue.company_id,
    agent_id: agentId,
    issue_id: issue.id,
    reason,
    payload: { comment_id: id },
  });
  const wakeups = mentioned.map((agentId) => wakeup(agentId, 'mention'));
  if (issue.assignee_agent_id !== null && !mentioned.includes(issue.assignee_agent_id))
    wakeups.push(wakeup(issue.assignee_agent_id, answered ? 'input' : 'comment'));
  const [comment, woken] = await together(
    insertComment(tx, actor, { id, issue, markdown: input.body_markdown }),
    wake(wakeups),
  );
  const created: Change = {
    company_id: issue.company_id,
    action: 'comment.created',
    entity_type: 'comment',
    entity_id: comment.id,
    details: { issue_id: issue.id, identifier: issue.identifier },
    event: { type: 'comment_created', data: commentEvent(comment) },
  };
  return { comment, changes: [created, ...changes], woken };
}

/** No statement for a text without mentions. */
async function mentionedAgents(tx: Tx, companyId: string, markdown: string): Promise<string[]> {
  const initials = mentionInitials(markdown);
  if (initials.length === 0) return [];
  const candidates = await tx
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(
      and(
        eq(agents.company_id, companyId),
        isNull(agents.deleted_at),
        inArray(sql`left(ltrim(${agents.name}), 1)`, initials),
      ),
    );
  return findMentions(markdown, candidates);
}

async function insertComment(
  tx: Tx,
  actor: Actor,
  { id, issue, markdown }: { id: string; issue: IssueRow; markdown: string },
): Promise<Comment> {
  const author = actorColumns(actor);
  const nameless = author.agent_id === null && author.user_id === null;
  const [row] = await inserted(tx, {
    id,
    company_id: issue.company_id,
    issue_id: issue.id,
    ...author,
    label: nameless ? actor.name : null,
    markdown,
    run_id: actor.kind === 'agent' ? actor.run_id : null,
  });
  return presentComment(commentRow(row!), actor.kind === 'user' ? actor.name : null);
}

const inserted = fixedStatement(
  ['id', 'company_id', 'issue_id', 'agent_id', 'user_id', 'label', 'markdown', 'run_id'],
  ({ id, company_id, issue_id, agent_id, user_id, label, markdown, run_id }) => sql`
    insert into comments
      (id, company_id, issue_id, author_agent_id, author_user_id, author_label, body_markdown, run_id)
    values (${id}, ${company_id}, ${issue_id}, ${agent_id}, ${user_id}, ${label}, ${markdown}, ${run_id})
    returning *`,
);
