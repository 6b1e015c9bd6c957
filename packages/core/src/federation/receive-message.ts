import {
  type A2aMessage,
  type AgentActor,
  endedTaskStates,
  requirePermission,
  type TaskPart,
} from '@acp/contract';
import { lockByName, schema, type Tx } from '@acp/db';
import { conflict, cutText, invalid, newId, notFound, readableJson, sha256Hex } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { createAttachments, type StoredFile } from '../attachments/index.ts';
import { createComment } from '../comments/index.ts';
import { createIssue, createRelation, findIssue, type IssueRow } from '../issues/index.ts';
import { clientActor, depthOfMessage } from './client.ts';
import { readTask, type Task } from './read-tasks.ts';

const { a2a_messages, a2a_tasks } = schema;

/** A message with its stored parts, and the files created from their bytes. */
interface ReceivedMessage extends Pick<A2aMessage, 'messageId' | 'metadata'> {
  /** Null or absent: a new task. */
  taskId?: string | null | undefined;
  contextId?: string | null | undefined;
  /** Parts with bytes have no `attachment_id` yet: each takes the next of `files`. */
  parts: readonly (TaskPart & { stored?: true })[];
  files: readonly StoredFile[];
}

interface Receipt {
  task_id: string;
}

const TITLE_BYTES = 200;
const EARLIER_BYTES = 2000;

/**
 * Receives a client's message: a new task, or another turn of an open one. A message sent again changes nothing.
 * @throws notFound for an unknown task, conflict for one that has ended, invalid, forbidden
 */
export async function receiveMessage(tx: Tx, agent: AgentActor, message: ReceivedMessage): Promise<Receipt> {
  const client = clientActor(agent, depthOfMessage(message.metadata));
  if (message.files.length > 0) requirePermission(agent, 'files.write');
  const known = await sentBefore(tx, agent, message);
  if (known !== undefined) return { task_id: known };
  const task = await taskOf(tx, agent, message);
  if (task && endedTaskStates.includes(task.state)) throw conflict(`the task is ${task.state}`);
  const issue = task === undefined ? await open(tx, agent, message) : await findIssue(tx, task.id);
  if (issue === undefined) throw notFound();
  const attached = await createAttachments(tx, client, issue, message.files);
  const ids = attached.map(({ id }) => id);
  const parts = message.parts.map(({ stored, ...part }) =>
    stored ? { ...part, attachment_id: ids.shift() } : part,
  );
  await tx.insert(a2a_messages).values({
    company_id: agent.company_id,
    issue_id: issue.id,
    agent_id: agent.agent_id,
    message_id: message.messageId,
    digest: digestOf(message),
    parts,
    metadata: message.metadata ?? null,
  });
  if (task !== undefined) {
    const body_markdown = markdownOf(message.parts);
    await createComment(tx, client, issue, { body_markdown, resume_after: true });
  }
  return { task_id: issue.id };
}

/** Files are represented by their hashes. */
const digestOf = ({ messageId, taskId, contextId, parts, files }: ReceivedMessage): string =>
  sha256Hex(JSON.stringify([messageId, taskId, contextId, parts, files.map(({ sha256 }) => sha256)]));

/** The lock lasts until the end of the transaction, so that concurrent copies of a message are received one after the other. */
async function sentBefore(
  tx: Tx,
  { agent_id }: AgentActor,
  message: ReceivedMessage,
): Promise<string | undefined> {
  const digest = digestOf(message);
  await lockByName(tx, `a2a:${agent_id}:${digest}`);
  const { rows } = await tx.execute<{ issue_id: string }>(sql`
    select issue_id from a2a_messages
    where agent_id = ${agent_id} and message_id = ${message.messageId} and digest = ${digest}`);
  return rows[0]?.issue_id;
}

/** The task that the message continues; undefined if it starts a new one. */
async function taskOf(
  tx: Tx,
  { agent_id }: AgentActor,
  { taskId, contextId }: ReceivedMessage,
): Promise<Task | undefined> {
  if (taskId) {
    const task = await readTask(tx, agent_id, taskId);
    if (task === undefined) throw notFound();
    if (contextId && contextId !== task.context_id) throw invalid('contextId is not the one of the task');
    return task;
  }
  const last = contextId ? await lastOf(tx, agent_id, contextId) : undefined;
  // The agent asked: the client's next message in this conversation is the answer.
  return last?.state === 'input_required' ? last : undefined;
}

/** The latest task of the conversation. */
async function lastOf(tx: Tx, agent_id: string, context_id: string): Promise<Task | undefined> {
  const { rows } = await tx.execute<{ issue_id: string }>(sql`
    select issue_id from a2a_tasks where agent_id = ${agent_id} and context_id = ${context_id}
    order by created_at desc nulls last, issue_id desc nulls last limit 1`);
  return rows[0] && readTask(tx, agent_id, rows[0].issue_id);
}

async function open(tx: Tx, agent: AgentActor, message: ReceivedMessage): Promise<IssueRow | undefined> {
  requirePermission(agent, 'issues.create');
  const { agent_id, company_id } = agent;
  const client = clientActor(agent, depthOfMessage(message.metadata));
  const last = message.contextId ? await lastOf(tx, agent_id, message.contextId) : undefined;
  const before = last && (await findIssue(tx, last.id));
  const text = markdownOf(message.parts);
  const body_markdown = before && last ? `${text}\n\n${earlier(before, last)}` : text;
  const input = { title: titleOf(message.parts), body_markdown, assignee_agent_id: agent_id };
  const { id } = await createIssue(tx, client, company_id, input, { kind: 'a2a', id: agent_id });
  await tx
    .insert(a2a_tasks)
    .values({ issue_id: id, company_id, agent_id, context_id: message.contextId || newId() });
  const issue = await findIssue(tx, id);
  if (before && issue)
    await createRelation(tx, client, issue, { target_issue_id: before.id, relation_type: 'relates_to' });
  return issue;
}

/** What the agent should know about the earlier conversation. */
function earlier({ identifier, title }: IssueRow, { said }: Task): string {
  const answer = said === null ? '' : `\n\n${quote(cutText(said.text, EARLIER_BYTES))}`;
  return `---\nGoes on from ${identifier}: ${title}${answer}`;
}

const quote = (text: string): string => text.replaceAll(/^/gm, '> ');

function titleOf(parts: readonly TaskPart[]): string {
  const texts = parts.flatMap(({ text }) => text ?? []);
  const line = texts
    .join('\n')
    .split('\n')
    .find((each) => each.trim() !== '');
  return cutText((line ?? parts[0]?.filename ?? '').trim(), TITLE_BYTES).trim() || 'A message from outside';
}

/** The message as shown to the agent. @throws invalid if it is empty */
function markdownOf(parts: readonly TaskPart[]): string {
  const text = parts.map(markdownOfPart).join('\n\n');
  if (text.trim() === '') throw invalid('the message is empty');
  return text;
}

function markdownOfPart({ text, data, url, filename }: TaskPart): string {
  if (text !== undefined) return text;
  if (data !== undefined) return `\`\`\`json\n${readableJson(data)}\n\`\`\``;
  if (url !== undefined) return `File by reference: ${filename === undefined ? '' : `${filename}, `}<${url}>`;
  return `Attached file: ${filename ?? 'without a name'}`;
}
