import { approvalEndpoints, inboxEndpoints as rows } from '@acp/contract';
import { countWaiting, findApproval, findIssue, inboxReasons, readInbox, userNames } from '@acp/core';
import { isUuid } from '@acp/kernel';
import { joinDecisions } from '../access/access-frame.ts';
import { namesIn } from '../approvals/approval-routes.ts';
import { decidedAll, decidedOne, readChosen } from '../approvals/list-decisions.ts';
import { incidentLinks } from '../costs/incidents.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { notice, postButton } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { inboxParts } from './inbox-page.ts';

type CompanyContext = UiContext<'company'>;

const byCompany = { by: 'company', param: 'companyId' } as const;
const inboxPath = (company_id: string): string => `/companies/${company_id}/inbox`;

/** @param outcome of a decision about the chosen approvals */
async function inboxPage(
  context: CompanyContext,
  { said = '', error = null }: { said?: Html; error?: string | null } = {},
): Promise<Html> {
  const { tx, user, company_id, fragment } = context;
  const inbox = await readInbox(tx, user, company_id);
  const asking = [...inbox.awaiting_input, ...inbox.needs_attention, ...inbox.unread_issues];
  const parts = inboxParts({
    company_id,
    inbox,
    budgets: await incidentLinks(tx, company_id, inbox.budget_incidents),
    names: await namesIn(context, inbox.approvals),
    joining: await userNames(
      tx,
      inbox.join_requests.map(({ user_id }) => user_id),
    ),
    reasons: await inboxReasons(tx, company_id, [...new Set(asking.map(({ id }) => id))]),
    can_write: mayWrite(context),
    error,
  });
  if (fragment) return parts;
  const path = inboxPath(company_id);
  const topics = 'issues comments approvals budget_incident join_request inbox_changed';
  const body = html`!${said}!${notice(joinDecisions[context.query.done ?? ''])}!${await decidedOne(context, path)}!${await readNotice(context)}!${await putOffNotice(context)}
    <div data-live="${topics}" data-source="${path}" data-fresh data-chooses>!${parts}</div>
    <p class="soft small" data-notices hidden>
      <button type="button" class="link small" data-ask-notices></button>
    </p>`;
  return companyPage(context, { title: t`Inbox`, active: path, body });
}

/** Confirms that an issue was marked as read or snoozed, with an undo button. */
async function readNotice({ tx, query, company_id }: CompanyContext): Promise<Html> {
  const id = query.read ?? query.later;
  const issue = id && isUuid(id) ? await findIssue(tx, id) : undefined;
  if (issue?.company_id !== company_id) return '';
  return html`<div class="notice good" role="status">
    ${query.later ? t`${issue.identifier} is snoozed.` : t`${issue.identifier} is marked as read.`}
    !${postButton(`/issues/${issue.id}/unread`, 'Undo', { class: 'link' })}
  </div>`;
}

/** Likewise for an approval that was put off. */
async function putOffNotice({ tx, query, company_id }: CompanyContext): Promise<Html> {
  const approval = query.put_off ? await findApproval(tx, query.put_off) : undefined;
  if (approval?.company_id !== company_id) return '';
  return html`<div class="notice good" role="status">
    ${t`“${approval.title}” is snoozed.`}
    !${postButton(`/approvals/${approval.id}/unsnooze`, 'Undo', { class: 'link' })}
  </div>`;
}

export const inboxRoutes: UiRoute[] = [
  page('/companies/{companyId}/inbox', { scope: byCompany, role: 'viewer' }, (c) => inboxPage(c)),
  // The number next to the inbox link.
  page(
    '/companies/{companyId}/inbox/part/waiting',
    { scope: byCompany, role: 'viewer' },
    async ({ tx, user, company_id }) => String((await countWaiting(tx, user, company_id)).inbox || ''),
  ),
  action('/companies/{companyId}/inbox/decisions', approvalEndpoints.decide, {
    read: readChosen,
    next: (c, decided, form) => inboxPage(c, { said: decidedAll(decided, form, inboxPath(c.company_id)) }),
    failed: (c, error) => inboxPage(c, { error }),
  }),
  action('/companies/{companyId}/inbox/read', rows.readAll, { next: (c) => inboxPath(c.company_id) }),
  action('/issues/{issueId}/read', rows.read, {
    next: (c) => `${inboxPath(c.company_id)}?read=${c.subject.id}`,
  }),
  action('/issues/{issueId}/unread', rows.unread, { next: (c) => inboxPath(c.company_id) }),
  action('/issues/{issueId}/snooze', rows.snooze, {
    read: (form) => ({ minutes: form.number('minutes') }),
    next: (c) => `${inboxPath(c.company_id)}?later=${c.subject.id}`,
  }),
  action('/approvals/{approvalId}/snooze', rows.snoozeApproval, {
    read: (form) => ({ minutes: form.number('minutes') }),
    next: (c) => `${inboxPath(c.company_id)}?put_off=${c.subject.id}`,
  }),
  action('/approvals/{approvalId}/unsnooze', rows.unsnoozeApproval, { next: (c) => inboxPath(c.company_id) }),
];
