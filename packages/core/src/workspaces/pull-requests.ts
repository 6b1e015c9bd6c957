import type { UpdateWorkProduct, WorkProduct } from '@acp/contract';
import { schema, storedNow, type Tx } from '@acp/db';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { findIssue, updateIssue } from '../issues/index.ts';
import { createWorkProduct, findWorkProduct, updateWorkProduct } from '../work-products/index.ts';
import { type WorkspaceRow, workspaceChange } from './present.ts';

const { issues, projects, pull_requests, workspaces } = schema;

/** The state reported by its host. */
export interface PullRequestState {
  number: number;
  url: string;
  title: string;
  state: 'open' | 'merged' | 'closed';
  review_state: WorkProduct['review_state'];
  health_status: NonNullable<WorkProduct['health_status']>;
  head_commit: string | null;
}

export interface PullRequestPlace {
  provider: string;
  api_url: string;
  repository: string;
}

export type PullRequestRow = typeof pull_requests.$inferSelect;

const director = systemActor('workspaces');

/** The workspace's open pull request. */
async function openPullRequestOf(tx: Tx, workspace_id: string): Promise<PullRequestRow | undefined> {
  const [row] = await tx
    .select()
    .from(pull_requests)
    .where(and(eq(pull_requests.workspace_id, workspace_id), eq(pull_requests.open, true)))
    .orderBy(sql`${pull_requests.created_at} desc`)
    .limit(1);
  return row;
}

/**
 * Records a pull request that was opened or found: only once, however often it is reported, and as the same one if it was
 * reopened at the host.
 */
export async function keepPullRequest(
  tx: Tx,
  workspace: Pick<WorkspaceRow, 'id' | 'issue_id' | 'company_id' | 'branch' | 'base_branch'>,
  { provider, api_url, repository }: PullRequestPlace,
  state: PullRequestState,
): Promise<void> {
  // Concurrent callers that find the same one are serialised here.
  await tx.execute(sql`select from workspaces where id = ${workspace.id} for update`);
  const issue = await findIssue(tx, workspace.issue_id);
  if (issue === undefined) return;
  const [known] = await tx
    .select()
    .from(pull_requests)
    .where(
      and(
        eq(pull_requests.workspace_id, workspace.id),
        eq(pull_requests.number, state.number),
        eq(pull_requests.repository, repository),
      ),
    );
  if (known?.open === true) return;
  if (known !== undefined) return notePullRequest(tx, known, state);
  const product = await createWorkProduct(tx, director, issue, {
    type: 'pull_request',
    provider,
    external_id: String(state.number),
    title: state.title,
    url: state.url,
    status: 'active',
    review_state: state.review_state,
    health_status: state.health_status,
    is_primary: true,
    metadata: {
      branch: workspace.branch,
      base_branch: workspace.base_branch,
      head_commit: state.head_commit,
      repository,
    },
  });
  const { company_id, id: workspace_id } = workspace;
  const place = { provider, api_url, repository, number: state.number };
  await tx.insert(pull_requests).values({ work_product_id: product.id, workspace_id, company_id, ...place });
}

/** Claims pull requests that are due for a check; others skip them for a while. */
export async function claimDuePullRequests(tx: Tx, limit: number): Promise<PullRequestRow[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    update pull_requests set next_look_at = now() + interval '5 minutes', looked_at = clock_timestamp()
    where work_product_id in (
      select work_product_id from pull_requests where open and next_look_at <= ${storedNow}
      order by next_look_at limit ${limit} for update skip locked)
    returning work_product_id as id`);
  if (rows.length === 0) return [];
  return tx
    .select()
    .from(pull_requests)
    .where(sql`${pull_requests.work_product_id} in ${rows.map(({ id }) => id)}`);
}

/** Claims the workspace's open pull request for a check; the result of an earlier check still in progress is discarded. */
export async function claimPullRequestOf(tx: Tx, workspace_id: string): Promise<PullRequestRow | undefined> {
  const row = await openPullRequestOf(tx, workspace_id);
  if (row === undefined) return undefined;
  const [claimed] = await tx
    .update(pull_requests)
    .set({ looked_at: sql`clock_timestamp()` })
    .where(eq(pull_requests.work_product_id, row.work_product_id))
    .returning();
  return claimed;
}

/** Whether the workspace's pull request was merged after that moment, as far as is known. */
export async function wasMergedSince(tx: Tx, workspace_id: string, since: Date): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from pull_requests r join work_products p on p.id = r.work_product_id
    where r.workspace_id = ${workspace_id} and p.status = 'merged' and p.updated_at >= ${since.toISOString()}::timestamptz`);
  return rows.length > 0;
}

/** What a check needs besides the row. */
export async function pullRequestSecret(
  tx: Tx,
  { workspace_id }: Pick<PullRequestRow, 'workspace_id'>,
): Promise<{ workspace: WorkspaceRow; repo_secret: string | null; repo_url: string | null } | undefined> {
  const [row] = await tx
    .select({ workspace: workspaces, repo_secret: projects.repo_secret, repo_url: projects.repo_url })
    .from(workspaces)
    .leftJoin(projects, and(eq(projects.id, workspaces.project_id), isNull(projects.deleted_at)))
    .where(eq(workspaces.id, workspace_id));
  return row;
}

/**
 * Records the result of a check: updates the work product, and closes the issue on a merge if its project says so. Writes
 * nothing if nothing has changed or if a later check has begun. The more recent the last change, the sooner the next check.
 */
export async function notePullRequest(tx: Tx, row: PullRequestRow, seen: PullRequestState): Promise<void> {
  const open = seen.state === 'open';
  const { rows: mine } = await tx.execute(sql`
    select from pull_requests where work_product_id = ${row.work_product_id}
      and looked_at is not distinct from ${row.looked_at} for update`);
  if (mine.length === 0) return;
  const product = await findWorkProduct(tx, row.work_product_id);
  if (product === undefined) {
    // It is in the trash with its issue: no one needs it.
    await tx
      .update(pull_requests)
      .set({ next_look_at: sql`now() + interval '1 hour'` })
      .where(eq(pull_requests.work_product_id, row.work_product_id));
    return;
  }
  const status = ({ open: 'active', merged: 'merged', closed: 'closed' } as const)[seen.state];
  const wanted: UpdateWorkProduct = {
    status,
    review_state: seen.review_state,
    health_status: seen.health_status,
    title: seen.title,
  };
  const changed = Object.entries(wanted).some(([field, value]) => Reflect.get(product, field) !== value);
  await tx
    .update(pull_requests)
    .set({
      open,
      failures: 0,
      next_look_at: changed
        ? sql`now() + interval '1 minute'`
        : sql`now() + least(interval '15 minutes', greatest(interval '1 minute', (now() - ${product.updated_at}::timestamptz) / 10))`,
    })
    .where(eq(pull_requests.work_product_id, row.work_product_id));
  if (!changed) return;
  await updateWorkProduct(tx, director, product, wanted);
  if (seen.review_state === 'approved' || seen.review_state === 'changes_requested')
    await tx
      .update(workspaces)
      .set({ review_state: seen.review_state, updated_at: sql`now()` })
      .where(eq(workspaces.id, row.workspace_id));
  if (seen.state === 'merged') await closeMerged(tx, row);
}

async function closeMerged(tx: Tx, { workspace_id }: PullRequestRow): Promise<void> {
  const [found] = await tx
    .select({ issue_id: workspaces.issue_id, close_on_merge: projects.close_on_merge })
    .from(workspaces)
    .innerJoin(issues, eq(issues.id, workspaces.issue_id))
    .leftJoin(projects, eq(projects.id, workspaces.project_id))
    .where(eq(workspaces.id, workspace_id));
  const issue = found && (await findIssue(tx, found.issue_id));
  if (issue === undefined) return;
  const entity = { type: 'workspace', id: workspace_id };
  await recordChanges(tx, director, [workspaceChange(issue, 'workspace.merged', entity)]);
  const over = issue.status === 'done' || issue.status === 'cancelled';
  if (found?.close_on_merge !== false && !over) await updateIssue(tx, director, issue, { status: 'done' });
}

/** Records that the host did not respond, or not as expected. */
export async function notePullRequestFailure(tx: Tx, { work_product_id }: PullRequestRow): Promise<void> {
  await tx
    .update(pull_requests)
    .set({
      failures: sql`${pull_requests.failures} + 1`,
      next_look_at: sql`now() + least(interval '6 hours', interval '1 minute' * power(2, least(${pull_requests.failures}, 10)))`,
    })
    .where(eq(pull_requests.work_product_id, work_product_id));
}

/** Has it checked now, since someone has acted on it. */
export async function checkPullRequestSoon(
  tx: Tx,
  { work_product_id }: Pick<PullRequestRow, 'work_product_id'>,
): Promise<void> {
  await tx
    .update(pull_requests)
    .set({ next_look_at: sql`now()` })
    .where(eq(pull_requests.work_product_id, work_product_id));
}
