import { type Approval, approvalEndpoints as rows } from '@acp/contract';
import {
  type BudgetUsage,
  budgetUsage,
  countWaiting,
  findIssue,
  listAgents,
  listApprovalComments,
  listApprovals,
  nextAsking,
  presentApproval,
  snoozesOf,
  userNames,
} from '@acp/core';
import { invalid, isUuid } from '@acp/kernel';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { searched, searchOf } from '../kit/list-search.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import {
  approvalBody,
  approvalList,
  approvalsBody,
  listPath,
  type ListView,
  newApprovalBody,
  requestPart,
  statePart,
} from './approval-pages.ts';
import type { ApprovalView, Names } from './approval-view.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byApproval = { by: 'approval', param: 'approvalId' } as const;
type ApprovalContext = UiContext<'approval'>;

/** One statement for agents and one for users, regardless of the number of approvals. */
export async function namesIn(
  { tx, user, company_id }: UiContext,
  approvals: readonly Approval[],
): Promise<Names> {
  const { agents } = await listAgents(tx, user, { company_id });
  const users = await userNames(
    tx,
    approvals.flatMap((approval) => [approval.requested_by_user_id, approval.decided_by_user_id]),
  );
  return new Map([...agents.map(({ id, name }) => [id, name] as const), ...users]);
}

async function loadList(context: UiContext<'company'>): Promise<ListView> {
  const { tx, user, company_id, query } = context;
  const status = query.status === 'all' ? '' : query.status || 'pending';
  const { items, next_cursor } = await listApprovals(tx, company_id, {
    ...searchOf(query),
    ...(status ? { status } : {}),
  });
  return {
    company_id,
    status,
    query,
    approvals: items,
    next_cursor,
    names: await namesIn(context, items),
    snoozed: await snoozesOf(tx, user, items),
  };
}

async function approvalsPage(context: UiContext<'company'>): Promise<Html> {
  const { user, company_id, fragment } = context;
  const view = await loadList(context);
  if (fragment) return approvalList(view);
  const path = listPath(company_id);
  return companyPage(context, {
    title: t`Approvals`,
    active: path,
    actions:
      roleIn(user, company_id) === 'viewer'
        ? ''
        : html`<a class="button quiet" href="${path}/new">Ask for an approval</a>`,
    body: approvalsBody(view),
  });
}

async function newApprovalPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const path = listPath(context.company_id);
  return companyPage(context, {
    title: t`Ask for an approval`,
    active: path,
    trail: [{ label: t`Approvals`, path }],
    body: newApprovalBody(context.company_id, error, form),
  });
}

async function loadApproval(
  context: ApprovalContext,
  refused: ApprovalView['refused'] = null,
): Promise<ApprovalView> {
  const { tx, user, subject, company_id, query } = context;
  const approval = presentApproval(subject);
  // A form that was refused names the words itself.
  const q = searchOf({ q: refused?.form.text('q') || query.q || '' }).q ?? '';
  const can_write = roleIn(user, company_id) !== 'viewer';
  const offers_next = can_write && approval.status !== 'pending';
  const issue = approval.issue_id ? await findIssue(tx, approval.issue_id) : undefined;
  return {
    approval,
    issue: issue ? { id: issue.id, title: issue.title } : null,
    comments: (await listApprovalComments(tx, subject, {}, null)).items,
    names: await namesIn(context, [approval]),
    can_write,
    q,
    next: (offers_next && (await nextAsking(tx, user, subject, q || undefined))) || null,
    budgets: await budgetsFor(context, approval),
    is_admin: roleIn(user, company_id) === 'admin',
    snoozed_until: (await snoozesOf(tx, user, [approval])).get(approval.id) ?? null,
    is_requester: approval.requested_by_user_id === user.user_id,
    refused,
  };
}

/** The budgets whose ids, or whose scopes' ids, a request for more budget names; those of the asking agent too. */
async function budgetsFor(
  { tx, company_id }: ApprovalContext,
  { type, status, payload, requested_by_agent_id: agent_id }: Approval,
): Promise<BudgetUsage[]> {
  if (type !== 'budget_override' || status !== 'pending') return [];
  const ids = Object.values(payload).filter((value) => typeof value === 'string' && isUuid(value));
  const scope_ids = agent_id === null ? ids : [...ids, agent_id];
  const found = [
    ...(await budgetUsage(tx, company_id, { policy_ids: ids })),
    ...(await budgetUsage(tx, company_id, { scope_ids })),
  ];
  return [...new Map(found.map((usage) => [usage.policy.id, usage])).values()];
}

async function approvalPage(
  context: ApprovalContext,
  refused: ApprovalView['refused'] = null,
): Promise<Html> {
  const path = listPath(context.company_id);
  return companyPage(context, {
    title: context.subject.title,
    active: path,
    trail: [{ label: t`Approvals`, path }],
    body: approvalBody(await loadApproval(context, refused)),
  });
}

const refusedIn =
  (of: NonNullable<ApprovalView['refused']>['of']) =>
  (context: ApprovalContext, error: string, form: FormValues): Promise<Html> =>
    approvalPage(context, { of, error, form });

/** The three decisions differ only in their command. */
const decision = {
  // The decision applies to the version shown on the page.
  read: (form: FormValues) => ({ note: form.cleared('note'), updated_at: form.given('updated_at') }),
  next: ({ subject }: ApprovalContext, _: unknown, form: FormValues): string =>
    searched(`/approvals/${subject.id}`, { q: form.text('q') }),
  failed: refusedIn('decision'),
};

const readRequest = (form: FormValues) => ({
  type: form.given('type'),
  title: form.text('title'),
  description: form.cleared('description'),
  payload: form.json('payload'),
});

export const approvalRoutes: UiRoute[] = [
  page('/companies/{companyId}/approvals', { scope: byCompany, role: 'viewer' }, approvalsPage),
  // The number next to the navigation entry.
  page(
    '/companies/{companyId}/approvals/part/pending',
    { scope: byCompany, role: 'viewer' },
    async ({ tx, user, company_id }) => String((await countWaiting(tx, user, company_id)).approvals || ''),
  ),
  page('/companies/{companyId}/approvals/new', { scope: byCompany, role: 'member' }, (c) =>
    newApprovalPage(c),
  ),
  action('/companies/{companyId}/approvals/new', rows.create, {
    read: readRequest,
    next: (_, { id }) => `/approvals/${id}`,
    failed: newApprovalPage,
  }),
  page('/approvals/{approvalId}', { scope: byApproval, role: 'viewer' }, (c) => approvalPage(c)),
  page('/approvals/{approvalId}/part/state', { scope: byApproval, role: 'viewer' }, async (c) =>
    statePart(await loadApproval(c)),
  ),
  action('/approvals/{approvalId}/approve', rows.approve, {
    ...decision,
  }),
  page('/approvals/{approvalId}/part/request', { scope: byApproval, role: 'viewer' }, ({ subject }) =>
    requestPart({ approval: presentApproval(subject) }),
  ),
  action('/approvals/{approvalId}/reject', rows.reject, {
    ...decision,
    check: (_, form) => {
      if (form.given('note') === undefined) throw invalid('note: give a reason for the rejection');
    },
  }),
  action('/approvals/{approvalId}/request-revision', rows.requestRevision, {
    ...decision,
  }),
  action('/approvals/{approvalId}/resubmit', rows.resubmit, {
    read: readRequest,
    next: decision.next,
    failed: refusedIn('resubmit'),
  }),
  action('/approvals/{approvalId}/comments', rows.createComment, {
    read: (form) => ({ body_markdown: form.text('body_markdown') }),
    next: decision.next,
    failed: refusedIn('comment'),
  }),
];
