import type { Actor, WorkspaceAction, WorkspaceActionKind } from '@acp/contract';
import {
  byCreation,
  isUniqueViolation,
  newestFirst,
  type Page,
  type PageRequest,
  schema,
  type Tx,
  lockByName,
} from '@acp/db';
import { conflict, stated } from '@acp/kernel';
import { enqueue, enqueueMany } from '@acp/queue';
import { and, asc, eq, exists, sql } from 'drizzle-orm';
import { actorColumns, recordChanges, systemActor } from '../activity/index.ts';
import { hasRole } from '../companies/index.ts';
import { findIssue, type IssueRow, notTrashed } from '../issues/index.ts';
import type { WorkspaceFacts } from './open-workspace.ts';
import { type WorkspaceRow, workspaceChange, workspaceOf } from './present.ts';

const { workspace_actions: actions, workspaces } = schema;

type WorkspaceActionRow = typeof actions.$inferSelect;

const ATTEMPTS = 3;
const NEVER_ENDED = stated('it was begun several times and never ended');
/** Actions that one sweep offers again. */
const AT_ONCE = 100;
/** Actions of one company in progress: they wait for its git server, which may take minutes, and others share the places. */
const OF_ONE_COMPANY = 2;

/** Newest first. @throws notFound without a workspace, invalid for a bad cursor */
export async function listWorkspaceActions(
  tx: Tx,
  issue: IssueRow,
  query: PageRequest,
): Promise<Page<WorkspaceAction>> {
  const workspace = await workspaceOf(tx, issue);
  const page = newestFirst(actions.created_at, actions.id, query, 50);
  const rows = tx
    .select()
    .from(actions)
    .where(and(eq(actions.workspace_id, workspace.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, present);
}

/** @throws notFound without a workspace, conflict if there is nothing to act on or another action is in progress */
export async function requestWorkspaceAction(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  kind: WorkspaceActionKind,
  input: Record<string, unknown> = {},
): Promise<WorkspaceAction> {
  const workspace = await workspaceOf(tx, issue);
  assertActable(workspace);
  const { company_id } = issue;
  const created_by_user_id = actorColumns(actor).user_id;
  try {
    const [row] = await tx
      .insert(actions)
      .values({ company_id, workspace_id: workspace.id, kind, input, created_by_user_id })
      .returning();
    await enqueue(tx, 'act-on-workspace', { action_id: row!.id });
    const entity = { type: 'workspace', id: workspace.id };
    await recordChanges(tx, actor, [workspaceChange(issue, `workspace.${kind}_requested`, entity, input)]);
    return present(row!);
  } catch (err) {
    if (isUniqueViolation(err, 'workspace_actions_live'))
      throw conflict('another action on the workspace is in progress');
    throw err;
  }
}

/** Pushes after a run, if the project wants that. Does nothing while an action is in progress: it pushes again when it ends. */
export async function pushAfterRun(
  tx: Tx,
  { id: workspace_id, company_id }: Pick<WorkspaceRow, 'id' | 'company_id'>,
): Promise<void> {
  const [row] = await tx
    .insert(actions)
    .values({ company_id, workspace_id, kind: 'push' })
    .onConflictDoNothing()
    .returning();
  if (row !== undefined) await enqueue(tx, 'act-on-workspace', { action_id: row.id });
}

function assertActable({ kind, head_commit, base_commit, version }: WorkspaceRow): void {
  if (kind !== 'repository') throw conflict('the workspace has no repository');
  if (version === 0 || head_commit === null || head_commit === base_commit)
    throw conflict('nothing is committed yet');
}

/** Everything a scheduler needs to perform an action. */
export interface ClaimedAction {
  action: WorkspaceActionRow;
  workspace: WorkspaceRow;
  issue: { identifier: string; title: string };
  project: {
    repo_url: string | null;
    repo_secret: string | null;
    close_on_merge: boolean;
  } | null;
  bundle: WorkspaceFacts['bundle'];
}

/**
 * Undefined if it is finished, gone, or claimed by someone else; if it waits, as the company has two in progress; or if it may no
 * longer be performed, and has failed.
 */
export async function claimWorkspaceAction(
  tx: Tx,
  action_id: string,
  lease_sec: number,
): Promise<ClaimedAction | undefined> {
  const [of] = await tx
    .select({ company_id: actions.company_id })
    .from(actions)
    .where(eq(actions.id, action_id));
  if (of === undefined) return undefined;
  // Of several claims at once, each has to see what those before have begun.
  await lockByName(tx, `workspace actions of ${of.company_id}`);
  const [action] = await tx
    .update(actions)
    .set({ status: 'running', lease_expires_at: leaseOf(lease_sec), attempts: sql`${actions.attempts} + 1` })
    .where(
      and(
        eq(actions.id, action_id),
        sql`(${actions.status} = 'queued' or (${actions.status} = 'running' and ${actions.lease_expires_at} < now()))`,
        sql`(select count(*) from ${actions} o where o.company_id = ${actions.company_id} and o.status = 'running'
          and o.lease_expires_at > now()) < ${OF_ONE_COMPANY}`,
      ),
    )
    .returning();
  if (action === undefined) return undefined;
  const { rows } = await tx.execute<{
    issue: ClaimedAction['issue'];
    project: ClaimedAction['project'];
    bundle: ClaimedAction['bundle'];
    is_trashed: boolean;
    is_disallowed: boolean;
  }>(sql`
    select not (c.deleted_at is null and ${notTrashed('i')}) as is_trashed,
      a.created_by_user_id is not null and not ${hasRole(sql`a.created_by_user_id`, sql`a.company_id`, 'member')} as is_disallowed,
      jsonb_build_object('identifier', i.identifier, 'title', i.title) as issue,
      case when p.id is not null then jsonb_build_object('repo_url', p.repo_url, 'repo_secret', p.repo_secret,
        'close_on_merge', p.close_on_merge) end as project,
      case when b.workspace_id is not null then jsonb_build_object('storage_key', b.storage_key,
        'size_bytes', b.size_bytes, 'sha256', b.sha256, 'version', b.version) end as bundle
    from workspace_actions a join workspaces w on w.id = a.workspace_id
      join issues i on i.id = w.issue_id join companies c on c.id = a.company_id
      left join projects p on p.id = w.project_id and p.deleted_at is null
      left join workspace_bundles b on b.workspace_id = w.id
    where a.id = ${action_id}`);
  const [workspace] = await tx.select().from(workspaces).where(eq(workspaces.id, action.workspace_id));
  if (rows[0] === undefined || workspace === undefined) return undefined;
  const { is_trashed, is_disallowed, ...facts } = rows[0];
  if (!is_trashed && !is_disallowed) return { action, workspace, ...facts };
  await finishWorkspaceAction(tx, action, is_trashed ? TRASHED : DISALLOWED);
  return undefined;
}

const TRASHED = stated('the issue is in the trash');
const DISALLOWED = stated('whoever requested it may no longer do so');

const leaseOf = (lease_sec: number) => sql`now() + make_interval(secs => ${lease_sec})`;

/** Condition: the action is still the claimant's. */
const isClaimed = ({ id, attempts }: Pick<WorkspaceActionRow, 'id' | 'attempts'>) =>
  and(eq(actions.id, id), eq(actions.status, 'running'), eq(actions.attempts, attempts));

/** @returns false if someone else has claimed it since */
export async function renewWorkspaceAction(
  tx: Tx,
  action: WorkspaceActionRow,
  lease_sec: number,
): Promise<boolean> {
  const rows = await tx
    .update(actions)
    .set({ lease_expires_at: leaseOf(lease_sec) })
    .where(isClaimed(action))
    .returning({ id: actions.id });
  return rows.length > 0;
}

/** @param error null: it succeeded */
export async function finishWorkspaceAction(
  tx: Tx,
  action: WorkspaceActionRow,
  error: string | null,
): Promise<void> {
  const { workspace_id, kind } = action;
  const [row] = await tx
    .update(actions)
    .set({
      status: error === null ? 'done' : 'failed',
      error,
      lease_expires_at: null,
      finished_at: sql`now()`,
    })
    .where(isClaimed(action))
    .returning();
  if (row !== undefined) await offerNext(tx, row);
  const [workspace] = await tx.select().from(workspaces).where(eq(workspaces.id, workspace_id));
  const issue = workspace && (await findIssue(tx, workspace.issue_id));
  if (row === undefined || issue === undefined) return;
  const entity = { type: 'workspace', id: workspace_id };
  const act = error === null ? `workspace.${kind}_done` : `workspace.${kind}_failed`;
  const details = error === null ? {} : { error };
  await recordChanges(tx, systemActor('workspaces'), [workspaceChange(issue, act, entity, details)]);
}

/** After an attempt that was aborted, as by the end of its scheduler: the action is free for the next one, unless it was the last. */
export async function releaseWorkspaceAction(tx: Tx, action: WorkspaceActionRow): Promise<void> {
  if (action.attempts >= ATTEMPTS) return finishWorkspaceAction(tx, action, NEVER_ENDED);
  await tx.update(actions).set({ status: 'queued', lease_expires_at: null }).where(isClaimed(action));
}

/** The company's next action may be waiting for this one's place; the sweep would find it within two minutes. */
async function offerNext(tx: Tx, { company_id }: Pick<WorkspaceActionRow, 'company_id'>): Promise<void> {
  const [next] = await tx
    .select({ id: actions.id })
    .from(actions)
    .where(and(eq(actions.company_id, company_id), eq(actions.status, 'queued')))
    .orderBy(asc(actions.created_at))
    .limit(1);
  if (next !== undefined) await enqueue(tx, 'act-on-workspace', { action_id: next.id });
}

/** Pushes what runs have added while the previous state of the branch was pushed, if the project pushes after each run. */
export async function pushNewCommits(tx: Tx, { workspace }: Pick<ClaimedAction, 'workspace'>): Promise<void> {
  const { rows } = await tx.execute(sql`
    select from workspaces w join projects p on p.id = w.project_id and p.deleted_at is null
    where w.id = ${workspace.id} and p.push_after_run and w.head_commit is distinct from ${workspace.head_commit}
      and w.head_commit is distinct from w.pushed_commit`);
  if (rows.length > 0) await pushAfterRun(tx, workspace);
}

/** Records a successful push, unless the action is someone else's by now. */
export async function notePushed(tx: Tx, action: WorkspaceActionRow, commit: string): Promise<void> {
  await tx
    .update(workspaces)
    .set({ pushed_commit: commit, pushed_at: sql`now()`, updated_at: sql`now()` })
    .where(
      and(
        eq(workspaces.id, action.workspace_id),
        exists(tx.select({ id: actions.id }).from(actions).where(isClaimed(action))),
      ),
    );
}

/** Requeues actions whose job or scheduler was lost; fails them after some attempts. @returns number requeued */
export async function sweepWorkspaceActions(tx: Tx): Promise<number> {
  const lost = await tx
    .select()
    .from(actions)
    .where(
      sql`${actions.status} = 'running' and ${actions.lease_expires_at} < now() and ${actions.attempts} >= ${ATTEMPTS}`,
    )
    .limit(AT_ONCE)
    .for('update', { skipLocked: true });
  for (const action of lost) await finishWorkspaceAction(tx, action, NEVER_ENDED);
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from workspace_actions
    where (status = 'queued' and created_at < now() - interval '1 minute') or (status = 'running' and lease_expires_at < now())
    order by created_at limit ${AT_ONCE} for update skip locked`);
  if (rows.length > 0)
    await enqueueMany(
      tx,
      'act-on-workspace',
      rows.map(({ id }) => ({ action_id: id })),
    );
  return rows.length;
}

function present(row: WorkspaceActionRow): WorkspaceAction {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    kind: row.kind as WorkspaceAction['kind'],
    status: row.status as WorkspaceAction['status'],
    error: row.error,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
    finished_at: row.finished_at,
  };
}
