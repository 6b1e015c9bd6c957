import { liveRunStatuses, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { findIssue } from '../issues/index.ts';
import { workspaceChange } from './present.ts';

const { workspaces } = schema;

/** Days that the unused folder of an open issue is kept: it can be recreated from what is stored. */
const IDLE_DAYS = 30;
const ORDINARY_DAYS = 7;

interface ExpiredWorkspace {
  id: string;
  issue_id: string;
  company_id: string;
}

const outlived = sql`
  w.last_used_at < now() - make_interval(days => case
    when i.deleted_at is not null or i.status in ('done', 'cancelled') then coalesce(p.workspace_days, ${ORDINARY_DAYS})
    else ${IDLE_DAYS} end)
  and not exists (select from heartbeat_runs r where r.issue_id = w.issue_id and r.status in ${liveRunStatuses})`;

/** Expired workspaces on the machine, longest unused first. */
export async function expiredWorkspaces(tx: Tx, place: string, limit: number): Promise<ExpiredWorkspace[]> {
  const { rows } = await tx.execute<{ [K in keyof ExpiredWorkspace]: ExpiredWorkspace[K] }>(sql`
    select w.id, w.issue_id, w.company_id from workspaces w
      join issues i on i.id = w.issue_id left join projects p on p.id = w.project_id
    where w.place = ${place} and ${outlived}
    order by w.last_used_at limit ${limit}`);
  return rows;
}

/**
 * Gives up the folder if it is still expired: the issue is locked, so no run can start in it in the meantime. What is stored of
 * the workspace stays, and unpushed work is reported. @returns whether the folder is to be removed
 */
export async function abandonFolder(tx: Tx, { id }: { id: string }): Promise<boolean> {
  const { rows } = await tx.execute<{ issue_id: string }>(sql`
    select w.issue_id from workspaces w join issues i on i.id = w.issue_id
      left join projects p on p.id = w.project_id
    where w.id = ${id} and ${outlived} for update of i, w skip locked`);
  if (rows[0] === undefined) return false;
  const [row] = await tx
    .update(workspaces)
    .set({ place: null, state: 'removed', removed_at: sql`now()`, updated_at: sql`now()` })
    .where(sql`${workspaces.id} = ${id}`)
    .returning();
  const issue = await findIssue(tx, rows[0].issue_id);
  if (issue === undefined || row === undefined) return row !== undefined;
  const unpushed = row.file_count > 0 && row.pushed_commit !== row.work_commit;
  const entity = { type: 'workspace', id };
  await recordChanges(tx, systemActor('workspaces'), [
    workspaceChange(issue, 'workspace.removed', entity, { unpushed, status: issue.status }),
  ]);
  return true;
}

/** The issues among these that have a workspace, and the machines of their folders. */
export async function placesOfWorkspaces(
  tx: Tx,
  issue_ids: readonly string[],
): Promise<Map<string, string | null>> {
  if (issue_ids.length === 0) return new Map();
  const { rows } = await tx.execute<{ issue_id: string; place: string | null }>(
    sql`select issue_id, place from workspaces where issue_id in ${[...issue_ids]}`,
  );
  return new Map(rows.map(({ issue_id, place }) => [issue_id, place]));
}

/** The company's workspaces whose folders depend on a repository on the machine. */
export async function workspacesOnMachine(
  tx: Tx,
  company_id: string,
  place: string,
): Promise<{ id: string; repo_url: string }[]> {
  const { rows } = await tx.execute<{ id: string; repo_url: string }>(sql`
    select id, repo_url from workspaces
    where company_id = ${company_id} and place = ${place} and repo_url is not null`);
  return rows;
}
