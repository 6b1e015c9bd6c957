import { type Invite, inviteEndpoints, type JoinRequest } from '@acp/contract';
import { listInvites, listJoinRequests, userNames } from '@acp/core';
import { doneBy, type Names } from '../kit/answered-by.ts';
import { exactTime, exactTimeTo, timeAgo, words } from '../kit/format.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, formError, input, notice, postButton, select, shownOnce, status } from '../kit/parts.ts';
import { type Column, moreLink, pageOf, samePage, table } from '../kit/table.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import {
  accessPage,
  byCompany,
  type CompanyContext,
  isAdmin,
  joinDecisions,
  membersPath,
  roleChoices,
} from './access-frame.ts';

const invitesPath = (company_id: string): string => `${membersPath(company_id)}/invites`;
const requestsPath = (company_id: string): string => `${membersPath(company_id)}/requests`;

async function invitesPage(
  context: CompanyContext,
  error: string | null = null,
  form: FormValues | null = null,
  link: string | null = null,
): Promise<Html> {
  const { tx, company_id, query, services } = context;
  const admin = isAdmin(context);
  const { items, next_cursor } = await listInvites(
    tx,
    company_id,
    pageOf(query),
    admin ? services.vault : null,
  );
  const names = await userNames(
    tx,
    items.flatMap(({ created_by, accepted_by }) => [created_by, accepted_by]),
  );
  const base = invitesPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Invites', inviteColumns(base, admin, names), items)}!${moreLink(base, next_cursor, 'Older invites')}
          !${when(
            items.some(({ token }) => token !== null),
            () => html`<p class="hint">Listed by the first letters of the code at the end of each link.</p>`,
          )}
        </div>`
      : emptyState(
          'No one has been invited',
          admin
            ? html`Create a link above and give it to one person: it can be used once.`
            : html`An admin of the company invites people.`,
        );
  const body = html`!${when(link, (url) => shownOnce('The link, shown only once. Give it to one person; whoever opens it joins.', url))}
  !${notice(query.done === 'revoked' ? 'The invite has been revoked: its link no longer works.' : null)}
  !${when(admin, () => inviteForm(base, services.alert_targets.mail, error, form))}!${list}`;
  return accessPage(context, '/invites', body);
}

function inviteForm(base: string, mail: boolean, error: string | null, form: FormValues | null): Html {
  const errors = new FieldErrors(error, ['role', 'expires_in_hours', 'email']);
  return html`<form class="card" method="post" action="${base}">
    <h2>New invite</h2>
    !${formError(errors.general)}
    <div class="row">
      !${select({ name: 'role', label: 'Role', value: form?.text('role') || 'member', choices: roleChoices(), error: errors.of('role') })}
      !${input({ name: 'expires_in_hours', label: 'Valid for hours', type: 'number', min: 1, value: form?.text('expires_in_hours') || 72, error: errors.of('expires_in_hours') })}
      !${when(mail, () => input({ name: 'email', label: 'Send it to', type: 'email', value: form?.text('email') ?? '', hint: 'Empty: pass the link on yourself', error: errors.of('email') }))}
      <button>Create a link</button>
    </div>
  </form>`;
}

function inviteColumns(base: string, admin: boolean, names: Names): Column<Invite>[] {
  const columns: Column<Invite>[] = [
    { label: 'Invite', cell: (invite) => html`<code>${referenceOf(invite)}</code>` },
    { label: 'State', cell: (invite) => inviteState(invite, names) },
    { label: 'Role', cell: ({ role }) => html`${words(role)}` },
    { label: 'By', cell: ({ created_by }) => html`${doneBy(names, created_by)}` },
    { label: 'Created', cell: ({ created_at }) => exactTime(created_at) },
    { label: 'Ends', cell: (invite) => when(invite.is_open, () => exactTimeTo(invite.expires_at)) },
  ];
  if (!admin) return columns;
  const revoke = (invite: Invite): Html =>
    invite.accepted_at === null
      ? postButton(`${base}/${invite.id}/revoke`, 'Revoke', {
          class: 'danger small',
          confirm: t`Take the invite ${referenceOf(invite)} back?`,
        })
      : '';
  return [...columns, { label: 'Revoke', kind: 'acts', cell: revoke }];
}

/** Tells invites apart: by the link that was given to somebody, of which this opens nothing, or else by its id. */
const referenceOf = ({ id, token }: Invite): string =>
  token === null ? id.slice(0, 8) : `${token.slice(0, 6)}…`;

function inviteState(invite: Invite, names: Names): Html {
  const { accepted_at, accepted_by, expires_at, is_open } = invite;
  if (accepted_at !== null)
    return html`!${status('accepted')} <span class="soft">by ${doneBy(names, accepted_by)}</span>`;
  if (is_open) return status('open');
  if (new Date(expires_at).getTime() <= Date.now()) return status('expired');
  return html`!${status('ended')} <span class="soft">whoever created it may no longer invite</span>`;
}

async function requestsPage(context: CompanyContext, error: string | null = null): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listJoinRequests(tx, company_id, pageOf(query));
  const names = await userNames(
    tx,
    items.flatMap(({ user_id, resolved_by }) => [user_id, resolved_by]),
  );
  const base = requestsPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Requests to join', requestColumns(context, names), items)}!${moreLink(base, next_cursor, 'Older requests')}
        </div>`
      : emptyState(
          'No requests to join',
          html`Users of this instance ask on their list of companies or, if they may create companies
          themselves, through the API.
          !${when(isAdmin(context), () => html`It is quicker to <a href="${invitesPath(company_id)}">invite them</a>.`)}`,
        );
  if (context.fragment) return list;
  return accessPage(
    context,
    '/requests',
    html`!${formError(new FieldErrors(error).general)}!${notice(joinDecisions[query.done ?? ''])}
      <div data-live="join_request" data-source="${samePage(base, query)}">!${list}</div>`,
  );
}

function requestColumns(context: CompanyContext, names: Names): Column<JoinRequest>[] {
  const resolve = ({ id, status: state }: JoinRequest): Html =>
    state === 'pending'
      ? html`!${postButton(`/join-requests/${id}`, 'Approve', { class: 'small', fields: { status: 'approved' } })}
        !${postButton(`/join-requests/${id}`, 'Reject', { class: 'danger small', fields: { status: 'rejected' } })}`
      : '';
  const columns: Column<JoinRequest>[] = [
    { label: 'Who', cell: ({ user_id }) => html`${names.get(user_id) ?? t`a former user`}` },
    { label: 'Message', cell: ({ message }) => html`<span class="prose">${message ?? ''}</span>` },
    { label: 'State', cell: (request) => status(request.status) },
    { label: 'Asked', cell: ({ created_at }) => timeAgo(created_at) },
  ];
  return isAdmin(context) ? [...columns, { label: 'Decide', kind: 'acts', cell: resolve }] : columns;
}

export const inviteRoutes: UiRoute[] = [
  page('/companies/{companyId}/members/invites', { scope: byCompany, role: 'viewer' }, (c) => invitesPage(c)),
  // The link is shown only in this response, so there is no redirect.
  action('/companies/{companyId}/members/invites', inviteEndpoints.create, {
    read: (form) => ({
      role: form.text('role'),
      expires_in_hours: form.number('expires_in_hours'),
      email: form.given('email')?.trim(),
    }),
    next: (c, { token }) => invitesPage(c, null, null, `${c.services.public_url}/invites/${token ?? ''}`),
    failed: invitesPage,
  }),
  action('/companies/{companyId}/members/invites/{inviteId}/revoke', inviteEndpoints.revoke, {
    next: (c) => `${invitesPath(c.company_id)}?done=revoked`,
    failed: invitesPage,
  }),
  page('/companies/{companyId}/members/requests', { scope: byCompany, role: 'viewer' }, (c) =>
    requestsPage(c),
  ),
  action('/join-requests/{joinRequestId}', inviteEndpoints.resolveJoinRequest, {
    read: (form) => ({ status: form.text('status') }),
    next: (c, { status: state }, form) =>
      `${form.text('from') === 'inbox' ? `/companies/${c.company_id}/inbox` : requestsPath(c.company_id)}?done=${state}`,
    failed: (c, error) => requestsPage({ ...c, subject: undefined }, error),
  }),
];
