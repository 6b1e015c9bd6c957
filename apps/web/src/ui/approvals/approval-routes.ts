import { type Approval, type ApprovalComment, approvalEndpoints as rows } from '@acp/contract';
import {
  type BudgetUsage,
  budgetUsage,
  countWaiting,
  findIssue,
  agentOutlinesById,
  listApprovalComments,
  listApprovals,
  nextAsking,
  presentApproval,
  snoozesOf,
  userNames,
} from '@acp/core';
import { isUuid } from '@acp/kernel';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { searched, searchOf } from '../kit/list-search.ts';
import { samePage } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
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
import { assertReason, decidedAll, decidedOne, readChosen } from './list-decisions.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byApproval = { by: 'approval', param: 'approvalId' } as const;
type ApprovalContext = UiContext<'approval'>;

/** One statement for agents and one for users, regardless of the number of approvals. @param comments on them */
export async function namesIn(
  { tx, company_id }: UiContext,
  approvals: readonly Approval[],
  comments: readonly ApprovalComment[] = [],
): Promise<Names> {
  const agents = await agentOutlinesById(tx, company_id, [
    ...approvals.map(({ requested_by_agent_id }) => requested_by_agent_id),
    ...comments.map(({ author_agent_id }) => author_agent_id),
  ]);
  const users = await userNames(
    tx,
    approvals.flatMap((approval) => [approval.requested_by_user_id, approval.decided_by_user_id]),
  );
  return new Map([...agents.map(({ id, name }) => [id, name] as const), ...users]);
}

interface Outcome {
  said?: Html;
  error?: string;
}

async function loadList(context: UiContext<'company'>, { said, error }: Outcome = {}): Promise<ListView> {
  const { tx, user, company_id, query } = context;
  const status = query.status === 'all' ? '' : query.status || 'pending';
  const { items, next_cursor } = await listApprovals(tx, company_id, {
    ...searchOf(query),
    ...(status ? { status } : {}),
  });
  // The last of an older page has been decided.
  if (items.length === 0 && query.cursor) return loadList({ ...context, query: { ...query, cursor: '' } });
  return {
    company_id,
    status,
    query,
    can_write: mayWrite(context),
    error: error ?? null,
    said: said ?? (await decidedOne(context, addressOf(context))),
    approvals: items,
    next_cursor,
    names: await namesIn(context, items),
    snoozed: await snoozesOf(tx, user, items),
  };
}

/** The list as the query filters and searches it. */
const addressOf = ({ company_id, query }: Pick<UiContext, 'company_id' | 'query'>): string =>
  samePage(searched(listPath(company_id, query.status || 'pending'), query), query);

async function approvalsPage(context: UiContext<'company'>, outcome: Outcome = {}): Promise<Html> {
  const { user, company_id, fragment } = context;
  const view = await loadList(context, outcome);
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
  const { items: comments } = await listApprovalComments(tx, subject, {}, null);
  const issue = approval.issue_id ? await findIssue(tx, approval.issue_id) : undefined;
  return {
    approval,
    issue: issue ? { id: issue.id, title: issue.title } : null,
    comments,
    names: await namesIn(context, [approval], comments),
    can_write,
    q,
    next: (offers_next && (await nextAsking(tx, user, subject, q || undefined))) || null,
    budgets: await budgetsFor(context, approval),
    is_admin: roleIn(user, company_id) === 'admin',
    snoozed_until: (await snoozesOf(tx, user, [approval])).get(approval.id) ?? null,
    may_resubmit: can_write && approval.requested_by_user_id === user.user_id,
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
  next: ({ subject: { id, company_id } }: ApprovalContext, _: unknown, form: FormValues): string => {
    const query = { q: form.text('q'), cursor: form.text('cursor'), status: form.text('status') };
    if (form.text('from') === 'inbox') return `/companies/${company_id}/inbox?decided=${id}`;
    if (form.text('from') !== 'list') return searched(`/approvals/${id}`, query);
    const list = addressOf({ company_id, query });
    return `${list}${list.includes('?') ? '&' : '?'}decided=${id}`;
  },
  failed: refusedIn('decision'),
};

const readRequest = (form: FormValues) => ({
  type: form.given('type'),
  title: form.text('title'),
  description: form.cleared('description'),
  payload: form.entries('payload'),
});

export const approvalRoutes: UiRoute[] = [
  page('/companies/{companyId}/approvals', { scope: byCompany, role: 'viewer' }, (c) => approvalsPage(c)),
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
    check: (_, form) => assertReason(true, form),
  }),
  action('/approvals/{approvalId}/request-revision', rows.requestRevision, {
    ...decision,
  }),
  action('/companies/{companyId}/approvals/decisions', rows.decide, {
    read: readChosen,
    next: (c, decided, form) => approvalsPage(c, { said: decidedAll(decided, form, addressOf(c)) }),
    failed: (c, error) => approvalsPage(c, { error }),
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
