import type { Actor, CreateWorkProduct, UpdateWorkProduct, WorkProduct } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { invalid, isUuid, notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findIssue, type IssueRow, issueUpdated, notTrashed } from '../issues/index.ts';
import { assertReferences, shownColumns } from '../trash/index.ts';

const { companies, work_products } = schema;

type WorkProductRow = typeof work_products.$inferSelect;

function presentWorkProduct(row: WorkProductRow): WorkProduct {
  return {
    id: row.id,
    company_id: row.company_id,
    project_id: row.project_id,
    issue_id: row.issue_id,
    type: row.type as WorkProduct['type'],
    provider: row.provider,
    external_id: row.external_id,
    title: row.title,
    url: row.url,
    status: row.status as WorkProduct['status'],
    review_state: row.review_state as WorkProduct['review_state'],
    is_primary: row.is_primary,
    health_status: row.health_status as WorkProduct['health_status'],
    summary: row.summary,
    metadata: row.metadata as Record<string, unknown>,
    created_by_run_id: row.created_by_run_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** As shown to clients: a project in the trash is null. */
const workProductColumns = shownColumns(work_products);

/** Newest first; at most 1,000 or 4 MB unless a limit is given. Throws `invalid` for a bad cursor. */
export async function listWorkProducts(
  tx: Tx,
  issue: IssueRow,
  query: PageRequest,
): Promise<Page<WorkProduct>> {
  const page = newestFirst(work_products.created_at, work_products.id, query, null, 'oldest first');
  const rows = tx
    .select(workProductColumns)
    .from(work_products)
    .where(and(eq(work_products.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, (row) => ({ at: row.created_at, id: row.id }), presentWorkProduct);
}

/** Undefined if absent, or if its issue or one of its ancestors is in the trash. */
export async function findWorkProduct(tx: Tx, id: string): Promise<WorkProductRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(workProductColumns)
    .from(work_products)
    .innerJoin(companies, eq(companies.id, work_products.company_id))
    .where(
      and(
        eq(work_products.id, id),
        isNull(companies.deleted_at),
        sql`exists (select from issues i where i.id = ${work_products.issue_id} and ${notTrashed('i')})`,
      ),
    );
  return row;
}

/** Throws `invalid` for a project or run from another company. */
export async function createWorkProduct(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateWorkProduct,
): Promise<WorkProduct> {
  const { project_id = issue.project_id, created_by_run_id = runOf(actor) } = input;
  await assertReferences(tx, 'work_products', issue.company_id, { project_id: input.project_id });
  if (input.created_by_run_id) await assertRun(tx, issue.company_id, input.created_by_run_id);
  await assertRoom(tx, 'work_products', issue.id);
  const [row] = await tx
    .insert(work_products)
    .values({
      company_id: issue.company_id,
      issue_id: issue.id,
      project_id,
      created_by_run_id,
      title: input.title,
      type: input.type ?? 'artifact',
      provider: input.provider,
      external_id: input.external_id,
      url: input.url,
      status: input.status ?? 'active',
      review_state: input.review_state ?? 'none',
      is_primary: input.is_primary ?? false,
      health_status: input.health_status,
      summary: input.summary,
      metadata: input.metadata ?? {},
    })
    .returning(workProductColumns);
  await recordChanges(tx, actor, [changeOf(issue, row!, 'created', { type: row!.type, title: row!.title })]);
  return presentWorkProduct(row!);
}

export async function updateWorkProduct(
  tx: Tx,
  actor: Actor,
  subject: WorkProductRow,
  input: UpdateWorkProduct,
): Promise<WorkProduct> {
  const { title, url, status, review_state, is_primary, health_status, summary } = input;
  const changes = { title, url, status, review_state, is_primary, health_status, summary };
  const [row] = await tx
    .update(work_products)
    .set({ ...changes, updated_at: sql`now()` })
    .where(eq(work_products.id, subject.id))
    .returning(workProductColumns);
  const issue = await findIssue(tx, subject.issue_id);
  if (!row || !issue) throw notFound();
  const { summary: _text, ...details } = changes;
  await recordChanges(tx, actor, [changeOf(issue, row, 'updated', details)]);
  return presentWorkProduct(row);
}

export async function deleteWorkProduct(tx: Tx, actor: Actor, subject: WorkProductRow): Promise<void> {
  const [row] = await tx
    .delete(work_products)
    .where(eq(work_products.id, subject.id))
    .returning(workProductColumns);
  const issue = await findIssue(tx, subject.issue_id);
  if (!row || !issue) throw notFound();
  await recordChanges(tx, actor, [changeOf(issue, row, 'deleted', { title: row.title })]);
}

const runOf = (actor: Actor) => (actor.kind === 'agent' ? actor.run_id : null);

async function assertRun(tx: Tx, company_id: string, run_id: string): Promise<void> {
  const { rows } = await tx.execute(
    sql`select from heartbeat_runs where id = ${run_id} and company_id = ${company_id}`,
  );
  if (rows.length === 0) throw invalid('created_by_run_id: unknown run');
}

function changeOf(issue: IssueRow, row: WorkProductRow, act: string, details: Record<string, unknown>) {
  return {
    ...issueUpdated(issue, `work_product.${act}`, { issue_id: issue.id, ...details }),
    entity_type: 'work_product',
    entity_id: row.id,
  };
}
