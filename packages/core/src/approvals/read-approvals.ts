import { type Approval, approvalStatuses } from '@acp/contract';
import {
  byCreation,
  containing,
  newestFirst,
  type Page,
  readWithinBytes,
  schema,
  type SearchRequest,
  type Tx,
} from '@acp/db';
import { invalid, isUuid, said } from '@acp/kernel';
import { and, asc, eq, inArray } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { type ApprovalRow, presentApproval, approvalColumns } from './present.ts';

const { approvals, companies } = schema;

/** Also undefined if the company is in the trash. */
export async function findApproval(tx: Tx, id: string): Promise<ApprovalRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(approvalColumns)
    .from(approvals)
    .innerJoin(companies, ofLiveCompany(approvals.company_id))
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
  if (unknown !== undefined) throw invalid(said`unknown status: ${unknown}`);
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
  return plan.read(tx, rows, byCreation, presentApproval);
}

/** More are found on the page of approvals. */
const MOST_PER_ISSUE = 10;

/** What people are asked to decide about an issue, oldest first. */
export async function openApprovalsOf(tx: Tx, issue_id: string): Promise<Approval[]> {
  const listed = tx
    .select(approvalColumns)
    .from(approvals)
    .where(and(eq(approvals.issue_id, issue_id), eq(approvals.status, 'pending')))
    .orderBy(asc(approvals.created_at), asc(approvals.id))
    .limit(MOST_PER_ISSUE);
  return (await readWithinBytes(tx, listed)).rows.map((row) => presentApproval(row));
}
