import { type Approval, approvalStatuses } from '@acp/contract';
import { containing, newestFirst, type Page, schema, type Tx, type SearchRequest } from '@acp/db';
import { invalid, isUuid } from '@acp/kernel';
import { and, eq, inArray, isNull } from 'drizzle-orm';
import { type ApprovalRow, presentApproval, approvalColumns } from './present.ts';

const { approvals, companies } = schema;

/** Also undefined if the company is in the trash. */
export async function findApproval(tx: Tx, id: string): Promise<ApprovalRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(approvalColumns)
    .from(approvals)
    .innerJoin(companies, and(eq(companies.id, approvals.company_id), isNull(companies.deleted_at)))
    .where(eq(approvals.id, id));
  return row;
}

/** Newest first. @throws invalid for an unknown status or an invalid cursor */
export async function listApprovals(
  tx: Tx,
  company_id: string,
  filter: SearchRequest & { status?: string } = {},
): Promise<Page<Approval>> {
  const statuses = filter.status?.split(',').map((status) => status.trim());
  const unknown = statuses?.find((status) => !approvalStatuses.some((known) => known === status));
  if (unknown !== undefined) throw invalid(`unknown status: ${unknown}`);
  const plan = newestFirst(approvals.created_at, approvals.id, filter, 50);
  const rows = tx
    .select(approvalColumns)
    .from(approvals)
    .where(
      and(
        eq(approvals.company_id, company_id),
        statuses === undefined ? undefined : inArray(approvals.status, statuses),
        containing(filter.q, [approvals.title]),
        plan.where,
      ),
    )
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, ({ created_at, id }) => ({ at: created_at, id }), presentApproval);
}
