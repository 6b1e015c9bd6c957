import { type Inbox, inboxEndpoints as rows, type IssueSummary } from '@acp/contract';
import { findIssue, readInbox } from '@acp/core';
import { isUuid } from '@acp/kernel';
import { type IncidentLink, incidentLinks } from '../costs/incidents.ts';
import { companyPage } from '../kit/company-frame.ts';
import { money, timeAgo } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { emptyState, postButton, status } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

type CompanyContext = UiContext<'company'>;

const byCompany = { by: 'company', param: 'companyId' } as const;
const inboxPath = (company_id: string): string => `/companies/${company_id}/inbox`;

async function inboxPage(context: CompanyContext): Promise<Html> {
  const { tx, user, company_id, fragment } = context;
  const inbox = await readInbox(tx, user, company_id);
  const budgets = await incidentLinks(tx, company_id, inbox.budget_incidents);
  const parts = inboxParts(company_id, inbox, budgets);
  if (fragment) return parts;
  const path = inboxPath(company_id);
  const body = html`!${await readNotice(context)}
    <div data-live="issues comments approvals budget_incident" data-source="${path}">!${parts}</div>`;
  return companyPage(context, { title: 'Inbox', active: path, body });
}

function inboxParts(company_id: string, inbox: Inbox, budgets: readonly IncidentLink[]): Html {
  const parts = [
    section(
      'Waits for your decision',
      inbox.approvals.map(
        ({ id, title, created_at }) =>
          html`<li><a class="grow" href="/approvals/${id}">${title}</a>!${since(created_at)}</li>`,
      ),
    ),
    section('Asks for input', inbox.awaiting_input.map(issueLine)),
    section('Needs a person', inbox.needs_attention.map(issueLine)),
    section(
      'Budgets',
      budgets.map(
        ({ path, title, incident }) =>
          html`<li>
            <a class="grow" href="${path}">${title}</a>
            <span class="soft small">!${money(incident.spent_usd)} of !${money(incident.limit_usd)}</span>
            !${since(incident.opened_at)}
          </li>`,
      ),
    ),
    section('Unread', inbox.unread_issues.map(unreadLine)),
  ].join('');
  return (
    parts ||
    emptyState(
      'Nothing waits for you',
      html`What agents ask, and what others write on issues, comes here. Look at the
        <a href="/companies/${company_id}/board">board</a> meanwhile.`,
    )
  );
}

function section(title: string, lines: readonly Html[]): Html {
  return when(
    lines.length > 0,
    () =>
      html`<section class="card">
        <h2>${title}</h2>
        <ul class="list">
          !${each(lines, (line) => line)}
        </ul>
      </section>`,
  );
}

const since = (instant: Date | string): Html => html`<span class="soft small">!${timeAgo(instant)}</span>`;

function issueLine({ id, identifier, title, status: state, updated_at }: IssueSummary): Html {
  return html`<li>
    <span class="identifier">${identifier}</span><a class="grow" href="/issues/${id}">${title}</a>
    !${status(state)}!${since(updated_at)}
  </li>`;
}

/** The title posts: opening an unread issue marks it read. */
function unreadLine({ id, identifier, title, status: state, updated_at }: IssueSummary): Html {
  return html`<li>
    <span class="identifier">${identifier}</span>
    <span class="grow"
      >!${postButton(`/issues/${id}/read`, title, { class: 'link', fields: { open: 'on' } })}</span
    >
    !${status(state)}!${since(updated_at)}!${postButton(`/issues/${id}/read`, 'Mark as read', { class: 'quiet small' })}
  </li>`;
}

/** Of what was just marked, with the way back. */
async function readNotice({ tx, query, company_id }: CompanyContext): Promise<Html> {
  const issue = query.read && isUuid(query.read) ? await findIssue(tx, query.read) : undefined;
  if (issue?.company_id !== company_id) return '';
  return html`<div class="notice good" role="status">
    ${issue.identifier} is marked as read.
    !${postButton(`/issues/${issue.id}/unread`, 'Undo', { class: 'link' })}
  </div>`;
}

const opens = ({ request }: UiContext): boolean => {
  const form: unknown = request.body;
  return typeof form === 'object' && form !== null && 'open' in form;
};

export const inboxRoutes: UiRoute[] = [
  page('/companies/{companyId}/inbox', { scope: byCompany, role: 'viewer' }, inboxPage),
  action('/issues/{issueId}/read', rows.read, {
    next: (c) => (opens(c) ? `/issues/${c.subject.id}` : `${inboxPath(c.company_id)}?read=${c.subject.id}`),
  }),
  action('/issues/{issueId}/unread', rows.unread, {
    next: (c) => inboxPath(c.company_id),
  }),
];
