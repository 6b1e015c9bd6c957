import type { TaskState, TaskUsage } from '@acp/contract';
import type { Tx } from '@acp/db';
import { decodeCursor, encodeCursor, isUuid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { notTrashed } from '../issues/index.ts';
import { isAvailable } from './available-agents.ts';
import type { CommentPlace } from './task-history.ts';

/** The current state of a task. */
export interface Task {
  id: string;
  context_id: string;
  state: TaskState;
  /** When the issue last changed. */
  changed_at: Date;
  /** The agent's last message or question; null if there is none yet. */
  said: { id: string; text: string } | null;
  /** From here on the agent's further comments are read; null if there is none yet. */
  last_comment: CommentPlace | null;
  /** Total of the finished runs that worked on it. */
  usage: TaskUsage;
}

export interface TaskQuery {
  context_id?: string | undefined;
  state?: TaskState | undefined;
  changed_after?: Date | undefined;
  limit: number;
  cursor?: string | undefined;
}

interface TaskPage {
  tasks: Task[];
  next_cursor: string | null;
  total: number;
}

/** Maximum length of the agent's last message: a list shows many. */
const LONGEST_SAID = 100_000;
const STOPPED = 'The agent stopped without finishing. A further message wakes it again.';

/**
 * The state of an issue as clients see it (docs/a2a.md). An issue that waits for a human waits for the client, which the
 * company treats as one; so does one on which the agent has said its word and nothing is under way, whatever it left as its
 * status, or clients would wait for ever. An agent sets the status before the end of its run, and its words are posted at the
 * end: until then the task is not over, or clients would be answered without them.
 */
const state = sql`case
  when i.status = 'cancelled' then 'canceled'
  when spent.is_running then 'working'
  when i.status = 'done' then 'completed'
  when i.awaiting_input or i.needs_human_attention then 'input_required'
  when i.status in ('todo', 'in_progress', 'in_review') and said.id is not null and not spent.is_queued
    and not exists (select from wakeup_requests w where w.agent_id = i.assignee_agent_id and w.issue_id = i.id and w.status = 'pending')
    then 'input_required'
  when i.status in ('backlog', 'todo') and i.checked_out_by_agent_id is null and said.id is null then 'submitted'
  else 'working' end`;

/** A task `t` with its issue `i` and its agent's last message `said`. */
const source = sql`a2a_tasks t
  join issues i on i.id = t.issue_id
  join companies c on c.id = i.company_id and c.deleted_at is null
  left join lateral (
    select id, created_at, left(body_markdown, ${LONGEST_SAID}) as text from comments
    where issue_id = i.id and author_agent_id is not null
    order by created_at desc, id desc limit 1
  ) said on true
  left join lateral (
    select coalesce(sum(cost_usd), 0)::float8 as cost_usd, coalesce(sum(input_tokens), 0)::float8 as input_tokens,
      coalesce(sum(output_tokens), 0)::float8 as output_tokens,
      coalesce(bool_or(status = 'running'), false) as is_running,
      coalesce(bool_or(status = 'queued'), false) as is_queued
    from heartbeat_runs where issue_id = i.id
  ) spent on true`;

const isForClients = sql`exists (select from agents where agents.id = t.agent_id and ${isAvailable})`;

const columns = sql`i.id, t.context_id, i.updated_at, i.awaiting_input, i.needs_human_attention, i.blocked_reason,
  said.id as said_id, said.created_at as said_at, said.text as said, ${state} as state, spent.cost_usd, spent.input_tokens, spent.output_tokens`;

interface TaskRow extends Record<string, unknown>, TaskUsage {
  id: string;
  context_id: string;
  updated_at: string;
  awaiting_input: boolean;
  needs_human_attention: boolean;
  blocked_reason: string | null;
  said_id: string | null;
  said_at: string | null;
  said: string | null;
  state: TaskState;
}

/** Undefined if it belongs to another agent, its issue is in the trash, or its agent is no longer available to clients. */
export async function readTask(tx: Tx, agent_id: string, id: string): Promise<Task | undefined> {
  if (!isUuid(id)) return undefined;
  const { rows } = await tx.execute<TaskRow>(sql`
    select ${columns} from ${source}
    where t.issue_id = ${id} and t.agent_id = ${agent_id} and ${notTrashed('i')} and ${isForClients}`);
  return rows[0] && toTask(rows[0]);
}

/** The tasks among these that exist and whose agent is still available to clients, in no particular order. */
export async function readTasks(tx: Tx, ids: readonly string[]): Promise<Task[]> {
  if (ids.length === 0) return [];
  const { rows } = await tx.execute<TaskRow>(sql`
    select ${columns} from ${source}
    where t.issue_id = any(${`{${ids.join(',')}}`}::uuid[]) and ${notTrashed('i')} and ${isForClients}`);
  return rows.map(toTask);
}

/** Whether clients may still see the task. */
export async function isVisibleTask(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1 from a2a_tasks t join issues i on i.id = t.issue_id
    join companies c on c.id = i.company_id and c.deleted_at is null
    where t.issue_id = ${id} and ${notTrashed('i')} and ${isForClients}`);
  return rows.length > 0;
}

/** The agent's tasks, last changed first. @throws invalid for a bad cursor */
export async function listTasks(tx: Tx, agent_id: string, query: TaskQuery): Promise<TaskPage> {
  const { context_id, changed_after, limit, cursor } = query;
  const filters: SQL[] = [
    sql`i.origin_kind = 'a2a' and i.origin_id = ${agent_id} and i.deleted_at is null`,
    sql`t.agent_id = ${agent_id} and ${notTrashed('i')}`,
  ];
  if (context_id !== undefined) filters.push(sql`t.context_id = ${context_id}`);
  if (query.state !== undefined) filters.push(sql`${state} = ${query.state}`);
  if (changed_after !== undefined)
    filters.push(sql`i.updated_at >= ${changed_after.toISOString()}::timestamptz`);
  const matching = sql.join(filters, sql` and `);
  const after = cursor === undefined ? sql`` : behind(cursor);
  const { rows } = await tx.execute<TaskRow>(sql`
    select ${columns} from ${source} where ${matching} ${after}
    order by i.updated_at desc nulls last, i.id desc nulls last limit ${limit + 1}`);
  const { rows: counted } = await tx.execute<{ total: number }>(
    sql`select count(*)::int as total from ${source} where ${matching}`,
  );
  const tasks = rows.slice(0, limit).map(toTask);
  const last = rows.length > limit ? tasks.at(-1) : undefined;
  return {
    tasks,
    next_cursor: last ? encodeCursor([last.changed_at.toISOString(), last.id]) : null,
    total: counted[0]?.total ?? 0,
  };
}

function behind(cursor: string): SQL {
  const [at, id] = decodeCursor(cursor, ['timestamp', 'uuid']);
  return sql`and (i.updated_at, i.id) < (${at}::timestamptz, ${id}::uuid)`;
}

function toTask(row: TaskRow): Task {
  const { id, context_id, state: now, said_id, said_at } = row;
  return {
    id,
    context_id,
    state: now,
    changed_at: new Date(row.updated_at),
    usage: { cost_usd: row.cost_usd, input_tokens: row.input_tokens, output_tokens: row.output_tokens },
    last_comment: said_id === null || said_at === null ? null : { id: said_id, at: said_at },
    said: now === 'input_required' ? { id: said_id ?? id, text: question(row) } : spoken(row),
  };
}

const spoken = ({ said_id, said }: TaskRow): Task['said'] =>
  said_id === null || said === null ? null : { id: said_id, text: said };

/** The question is stored in the issue; the agent may have said more since. */
function question({ awaiting_input, needs_human_attention, blocked_reason, said }: TaskRow): string {
  if (awaiting_input) return blocked_reason ?? said ?? STOPPED;
  return (needs_human_attention ? null : said) ?? STOPPED;
}
