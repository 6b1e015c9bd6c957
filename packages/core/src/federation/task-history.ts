import type { TaskPart } from '@acp/contract';
import { type Tx, withinBytes } from '@acp/db';
import { sql } from 'drizzle-orm';

/** One message of a task's conversation. */
export interface TaskMessage {
  message_id: string;
  role: 'user' | 'agent';
  parts: TaskPart[];
  metadata: Record<string, unknown> | null;
}

/** The newest messages of several tasks, oldest first; 4 MB at most per task. */
export async function taskHistory(
  tx: Tx,
  task_ids: readonly string[],
  limit: number,
): Promise<Map<string, TaskMessage[]>> {
  if (task_ids.length === 0 || limit === 0) return new Map();
  const messages = sql`
    select * from (
      select m.message_id, 'user' as role, m.parts::text as parts, m.metadata::text as metadata, null as text, m.created_at, m.id
      from a2a_messages m where m.issue_id = task.id
      union all
      select c.id::text, 'agent', null, null, c.body_markdown, c.created_at, c.id
      from comments c where c.issue_id = task.id and c.author_agent_id is not null
    ) each order by created_at desc, id desc limit ${limit}`;
  const { rows } = await tx.execute<MessageRow>(sql`
    select task.id as task_id, said.* from unnest(${uuids(task_ids)}) as task(id)
    cross join lateral (${withinBytes(messages, ['parts', 'metadata', 'text'])}) said`);
  const byTask = new Map<string, TaskMessage[]>();
  for (const row of rows) byTask.set(row.task_id, [toMessage(row), ...(byTask.get(row.task_id) ?? [])]);
  return byTask;
}

interface MessageRow extends Record<string, unknown> {
  task_id: string;
  message_id: string;
  role: 'user' | 'agent';
  parts: string | null;
  metadata: string | null;
  text: string | null;
}

function toMessage({ message_id, role, parts, metadata, text }: MessageRow): TaskMessage {
  return {
    message_id,
    role,
    parts: parts === null ? [{ text: text ?? '' }] : (JSON.parse(parts) as TaskPart[]),
    metadata: metadata === null ? null : (JSON.parse(metadata) as Record<string, unknown>),
  };
}

const uuids = (ids: readonly string[]) => sql`${`{${ids.join(',')}}`}::uuid[]`;

/** A comment's place among those of its issue: it remains when the comment is deleted. */
export interface CommentPlace {
  id: string;
  at: string;
}

/** What agents said on the issue after that place (null: from the beginning), oldest first, the first 50. */
export async function agentCommentsAfter(
  tx: Tx,
  issue_id: string,
  after: CommentPlace | null,
): Promise<(CommentPlace & { text: string })[]> {
  const { rows } = await tx.execute<CommentPlace & { text: string } & Record<string, unknown>>(sql`
    select c.id, c.created_at as at, c.body_markdown as text from comments c
    where c.issue_id = ${issue_id} and c.author_agent_id is not null
      and (${after === null} or (c.created_at, c.id) > (${after?.at ?? null}::timestamptz, ${after?.id ?? null}::uuid))
    order by c.created_at, c.id limit 50`);
  return rows;
}
