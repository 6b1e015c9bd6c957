import type { Actor, CreateTaskSession, TaskSession, UpdateTaskSession } from '@acp/contract';
import {
  byCreation,
  isUniqueViolation,
  newestFirst,
  type Page,
  type PageRequest,
  schema,
  type Tx,
} from '@acp/db';
import { conflict, forbidden, invalid, isUuid, notFound } from '@acp/kernel';
import { and, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type AgentRow, clearSession, lockAgent, type SessionChange } from '../agents/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { findIssue } from '../issues/index.ts';

const { agents, companies, heartbeat_runs, task_sessions } = schema;

type TaskSessionRow = typeof task_sessions.$inferSelect;

/** Finds a session for the scope loader: undefined if its agent or company is in the trash. */
export async function findTaskSession(tx: Tx, id: string): Promise<TaskSessionRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(task_sessions))
    .from(task_sessions)
    .innerJoin(agents, and(eq(agents.id, task_sessions.agent_id), isNull(agents.deleted_at)))
    .innerJoin(companies, ofLiveCompany(task_sessions.company_id))
    .where(eq(task_sessions.id, id));
  return row;
}

export async function listTaskSessions(
  tx: Tx,
  agent: { id: string },
  query: PageRequest,
): Promise<Page<TaskSession>> {
  const page = newestFirst(task_sessions.created_at, task_sessions.id, query, null);
  const rows = tx
    .select()
    .from(task_sessions)
    .where(and(eq(task_sessions.agent_id, agent.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, present);
}

/**
 * Opens a session, or returns the active one, with its run updated if one is given.
 * @throws invalid for an issue from another company or a run of another agent; forbidden for another agent's session
 */
export async function createTaskSession(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  input: CreateTaskSession,
): Promise<TaskSession> {
  assertOwn(actor, agent.id);
  const issue = await findIssue(tx, input.issue_id);
  if (issue?.company_id !== agent.company_id) throw invalid('unknown issue');
  await assertRun(tx, agent.id, input.run_id);
  const { company_id, id: agent_id } = agent;
  const [row] = await tx
    .insert(task_sessions)
    .values({ company_id, agent_id, issue_id: issue.id, run_id: input.run_id })
    .onConflictDoUpdate({
      target: [task_sessions.agent_id, task_sessions.issue_id],
      targetWhere: sql`status = 'active'`,
      set: { run_id: sql`coalesce(excluded.run_id, ${task_sessions.run_id})`, updated_at: sql`now()` },
    })
    .returning();
  await tx.execute(deleteOldest(row!, sql`true`));
  await recordChanges(tx, actor, [changeOf(row!, 'task_session.opened')]);
  return present(row!);
}

/** Ended sessions of an agent on an issue beyond this many are removed, oldest first. */
const ENDED_KEPT = 50;

/** @param only a condition: without it nothing is read */
const deleteOldest = (
  { agent_id, issue_id }: Pick<TaskSessionRow, 'agent_id' | 'issue_id'>,
  only: SQL,
) => sql`
  delete from task_sessions where id in (
    select old.id from task_sessions old
    where old.issue_id = ${issue_id} and old.agent_id = ${agent_id} and old.status <> 'active' and ${only}
    order by old.created_at desc, old.id desc offset ${ENDED_KEPT})`;

/** @throws conflict if another session of the agent on the issue is active; otherwise like `createTaskSession` */
export async function updateTaskSession(
  tx: Tx,
  actor: Actor,
  session: TaskSessionRow,
  { status, summary, run_id }: UpdateTaskSession,
): Promise<TaskSession> {
  assertOwn(actor, session.agent_id);
  await assertRun(tx, session.agent_id, run_id);
  try {
    const [row] = await tx
      .update(task_sessions)
      .set({ status, summary, run_id, updated_at: sql`now()` })
      .where(eq(task_sessions.id, session.id))
      .returning();
    if (!row) throw notFound();
    await recordChanges(tx, actor, [changeOf(row, 'task_session.updated', { status })]);
    return present(row);
  } catch (err) {
    if (isUniqueViolation(err, 'task_sessions_active'))
      throw conflict('another session of the agent on this issue is active');
    throw err;
  }
}

/**
 * At the end of a run, updates its issue's session with the run and its summary, or completes it with the issue. Also stores
 * the agent's CLI session, unless that has changed since the run began.
 * Records no activity of its own: the run has its own.
 * @returns relations for the statement that ends the run; null if there is nothing to store
 */
export function taskSessionKept(
  run: { id: string; company_id: string; agent_id: string; issue_id: string | null; summary: string | null },
  issue: { status: string } | null,
  change?: SessionChange,
): SQL | null {
  if (run.issue_id === null || issue === null) return null;
  const session = change?.session ?? null;
  const status =
    issue.status === 'done' ? 'completed' : issue.status === 'cancelled' ? 'abandoned' : 'active';
  return sql`kept_session as (
      update task_sessions s set status = ${status}, run_id = ${run.id},
        summary = coalesce(${run.summary}, s.summary), updated_at = now()${sessionColumns(change)}
      where s.agent_id = ${run.agent_id} and s.issue_id = ${run.issue_id} and s.status = 'active'
      returning s.id
    ), opened_session as (
      insert into task_sessions (company_id, agent_id, issue_id, run_id, status, summary,
        session_id, session_cwd, session_totals, session_begun_at, session_updated_at)
      select ${run.company_id}::uuid, ${run.agent_id}::uuid, ${run.issue_id}::uuid, ${run.id}::uuid, ${status},
        ${run.summary}, ${session?.id ?? null}::text, ${session?.cwd ?? null}::text, ${totalsOf(session)}::jsonb,
        case when ${session?.id ?? null}::text is not null then now() end, clock_timestamp()
      where not exists (select from kept_session)
      on conflict do nothing
      returning id
    ), trimmed_sessions as (${deleteOldest({ ...run, issue_id: run.issue_id }, sql`exists (select from opened_session)`)})`;
}

const totalsOf = (session: SessionChange['session']): string | null =>
  session === null ? null : JSON.stringify(session.totals ?? null);

/** A session that was cleared in the meantime stays cleared. */
function sessionColumns(change: SessionChange | undefined): SQL {
  if (change === undefined) return sql``;
  const { session, version } = change;
  const same = sql`s.session_updated_at::text is not distinct from ${version}::text`;
  const kept = (column: string, value: SQL) =>
    sql`${sql.identifier(column)} = case when ${same} then ${value} else s.${sql.identifier(column)} end`;
  const begun = sql`case when s.session_id is not distinct from ${session?.id ?? null}::text then s.session_begun_at else now() end`;
  const columns = [
    kept('session_id', sql`${session?.id ?? null}::text`),
    kept('session_cwd', sql`${session?.cwd ?? null}::text`),
    kept('session_totals', sql`${totalsOf(session)}::jsonb`),
    kept('session_begun_at', begun),
    kept('session_updated_at', sql`clock_timestamp()`),
  ];
  return sql`, ${sql.join(columns, sql`, `)}`;
}

/** The agent's next run starts a new session on any issue, even if a run in progress ends later. */
export async function clearSessions(tx: Tx, actor: Actor, subject: AgentRow): Promise<void> {
  // The end of a run locks the agent first, and then both kinds of session.
  const agent = await lockAgent(tx, subject.id);
  await tx
    .update(task_sessions)
    .set({
      session_id: null,
      session_cwd: null,
      session_totals: null,
      session_updated_at: sql`clock_timestamp()`,
    })
    .where(and(eq(task_sessions.agent_id, agent.id), eq(task_sessions.status, 'active')));
  await clearSession(tx, actor, agent);
}

function assertOwn(actor: Actor, agent_id: string): void {
  if (actor.kind === 'agent' && actor.agent_id !== agent_id) throw forbidden('another agent’s task session');
}

async function assertRun(tx: Tx, agent_id: string, run_id: string | null | undefined): Promise<void> {
  if (!run_id) return;
  const [run] = await tx
    .select({ id: heartbeat_runs.id })
    .from(heartbeat_runs)
    .where(and(eq(heartbeat_runs.id, run_id), eq(heartbeat_runs.agent_id, agent_id)));
  if (!run) throw invalid('unknown run');
}

function present(row: TaskSessionRow): TaskSession {
  return {
    id: row.id,
    agent_id: row.agent_id,
    issue_id: row.issue_id,
    run_id: row.run_id,
    status: row.status as TaskSession['status'],
    summary: row.summary,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function changeOf(row: TaskSessionRow, action: string, details: Record<string, unknown> = {}) {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'task_session',
    entity_id: row.id,
    details: { agent_id: row.agent_id, issue_id: row.issue_id, ...details },
  };
}
