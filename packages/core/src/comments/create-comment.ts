import type { Actor, Comment, CreateComment } from '@acp/contract';
import { fixedStatement, instantText, together, type Tx, schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { actorColumns, type Change, recordChanges } from '../activity/index.ts';
import { applyHumanReply, type IssueRow } from '../issues/index.ts';
import { type RequestedWakeup, requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { findMentions, mentionInitials } from './mentions.ts';
import { commentEvent } from './present.ts';

const { agents } = schema;

/** A written comment, and what is left for its transaction: `recordChanges`. */
interface WrittenComment {
  comment: Comment;
  changes: Change[];
  woken: RequestedWakeup[];
}

/** One whose statements have been issued. Those that nothing waits for travel with the commit, which fails if they do. */
interface IssuedComment {
  comment: Promise<Comment>;
  changes: Change[];
  waking: Promise<RequestedWakeup[]>;
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
 * The same for a caller that needs the comment only after the commit: if no one is woken, it takes a single round trip.
 * @returns in an object, because waiting for the comment would have it sent before the commit
 */
export async function sendComment(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateComment,
): Promise<{ comment: Promise<Comment> }> {
  const { comment, changes, waking } = await issueComment(tx, actor, issue, input);
  await waking;
  await recordChanges(tx, actor, changes);
  return { comment };
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
  wake?: Wake,
): Promise<WrittenComment> {
  const issued = await issueComment(tx, actor, subject, input, wake);
  const [comment, woken] = await together(issued.comment, issued.waking);
  return { comment, changes: issued.changes, woken };
}

async function issueComment(
  tx: Tx,
  actor: Actor,
  subject: IssueRow,
  input: CreateComment,
  wake: Wake = async (wakeups) => requestWakeups(tx, actor, wakeups),
): Promise<IssuedComment> {
  const mentioned = await mentionedAgents(tx, subject.company_id, input.body_markdown);
  // Before the insert: rows are locked in a fixed order, and a comment's foreign key would only share the issue's lock.
  const { issue, answered, changes } = await applyHumanReply(tx, actor, subject, {
    resume: input.resume_after ?? false,
  });
  const said = newComment(actor, issue, input.body_markdown);
  const wakeup = (agentId: string, reason: WakeupRequest['reason']): WakeupRequest => ({
    company_id: issue.company_id,
    agent_id: agentId,
    issue_id: issue.id,
    reason,
    payload: { comment_id: said.id },
  });
  const wakeups = mentioned.map((agentId) => wakeup(agentId, 'mention'));
  if (issue.assignee_agent_id !== null && !mentioned.includes(issue.assignee_agent_id))
    wakeups.push(wakeup(issue.assignee_agent_id, answered ? 'input' : 'comment'));
  const comment = insertComment(tx, actor, issue, said);
  const waking = wake(wakeups);
  // Whoever does not wait for them learns of a failure from the commit.
  for (const each of [comment, waking]) each.catch(() => undefined);
  const created: Change = {
    company_id: issue.company_id,
    action: 'comment.created',
    entity_type: 'comment',
    entity_id: said.id,
    details: { issue_id: issue.id, identifier: issue.identifier },
    event: { type: 'comment_created', data: commentEvent(said), created_now: true },
  };
  return { comment, changes: [created, ...changes], waking };
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

/** All of a new comment but when it was created, which the database says. */
type NewComment = Omit<Comment, 'created_at'>;

function newComment(actor: Actor, issue: IssueRow, body_markdown: string): NewComment {
  const { agent_id, user_id } = actorColumns(actor);
  return {
    id: newId(),
    issue_id: issue.id,
    author_agent_id: agent_id,
    author_user_id: user_id,
    author_user_name: actor.kind === 'user' ? actor.name : authorLabel(actor),
    body_markdown,
    is_pinned: false,
    edited_at: null,
    reactions: [],
  };
}

/** The stored name of an author who is neither an agent nor a user. */
function authorLabel(actor: Actor): string | null {
  const { agent_id, user_id } = actorColumns(actor);
  return agent_id === null && user_id === null ? actor.name : null;
}

async function insertComment(
  tx: Tx,
  actor: Actor,
  { company_id }: IssueRow,
  said: NewComment,
): Promise<Comment> {
  const [row] = await inserted(tx, {
    id: said.id,
    company_id,
    issue_id: said.issue_id,
    agent_id: said.author_agent_id,
    user_id: said.author_user_id,
    label: authorLabel(actor),
    markdown: said.body_markdown,
    run_id: actor.kind === 'agent' ? actor.run_id : null,
  });
  return { ...said, created_at: instantText(row!.created_at as string) };
}

const inserted = fixedStatement(
  ['id', 'company_id', 'issue_id', 'agent_id', 'user_id', 'label', 'markdown', 'run_id'],
  ({ id, company_id, issue_id, agent_id, user_id, label, markdown, run_id }) => sql`
    insert into comments
      (id, company_id, issue_id, author_agent_id, author_user_id, author_label, body_markdown, run_id)
    values (${id}, ${company_id}, ${issue_id}, ${agent_id}, ${user_id}, ${label}, ${markdown}, ${run_id})
    returning created_at`,
);
