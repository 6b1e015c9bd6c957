import { companyEndpoints, type CompanyUser } from '@acp/contract';
import { countCredentials, listCompanyUsers, listOutsiders } from '@acp/core';
import { isInstanceAdmin } from '../../http/roles.ts';
import { timeAgo, words } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { avatar, emptyState, formError, notice, postButton, select } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import {
  accessPage,
  byCompany,
  type CompanyContext,
  isAdmin,
  membersPath,
  roleChoices,
} from './access-frame.ts';
import { keptQuery } from './credential-parts.ts';
import { memberPage, memberPath } from './member-page.ts';

/** Beyond this many users, those further down the alphabet are added by invite or through the API. */
const MOST_USERS = 500;

const done: Record<string, string> = texts({
  added: 'The user is now a member.',
  role: 'The role has been changed, effective from the next request.',
  removed: 'The member is removed.',
});

async function membersPage(context: CompanyContext, error: string | null = null): Promise<Html> {
  const { tx, user, company_id, query } = context;
  const admin = isAdmin(context);
  const { items, next_cursor } = await listCompanyUsers(tx, company_id, searchOf(query), admin);
  const base = membersPath(company_id);
  const held = await countCredentials(tx, company_id, admin ? items.map(({ user_id: id }) => id) : []);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Members', memberColumns(base, { admin, self: user.user_id, held }), items)}!${moreLink(searched(base, query), next_cursor, 'More members')}
        </div>`
      : nothingListed(base, query, () =>
          emptyState(
            'No members',
            admin
              ? html`<a href="${base}/invites">Invite someone</a>: whoever opens the link joins.`
              : html`An admin invites people.`,
          ),
        );
  const outsiders = isInstanceAdmin(user) ? await listOutsiders(tx, company_id, MOST_USERS) : [];
  const body = html`!${formError(error)}!${notice(done[query.done ?? ''])}!${searchedList(base, query, { items, next_cursor }, list)}
  !${addForm(base, outsiders)}`;
  return accessPage(context, '', body);
}

interface Shown {
  admin: boolean;
  self: string;
  /** Number of keys and webhooks by the member who answers for them. */
  held: ReadonlyMap<string, number>;
}

function memberColumns(base: string, { admin, self, held }: Shown): Column<CompanyUser>[] {
  const name = ({ display_name, user_id }: CompanyUser): Html =>
    html`<span class="who"
      >!${avatar(display_name)}<span
        >!${admin ? html`<a href="${base}/${user_id}">${display_name}</a>` : html`${display_name}`}!${when(user_id === self, () => html` <span class="soft">(you)</span>`)}</span
      ></span
    >`;
  const common: Column<CompanyUser>[] = [
    { label: 'Name', cell: name },
    {
      label: 'Role',
      cell: (row) => (admin && !held.has(row.user_id) ? roleForm(base, row) : html`${words(row.role)}`),
    },
    { label: 'Joined', cell: ({ joined_at }) => timeAgo(joined_at) },
  ];
  if (!admin) return common;
  const [who, ...others] = common;
  return [
    who!,
    { label: 'E-mail', cell: ({ email }) => html`${email}` },
    ...others,
    {
      label: 'Keys',
      kind: 'number',
      cell: ({ user_id }) => (held.has(user_id) ? html`${held.get(user_id)!}` : ''),
    },
    {
      label: 'Remove',
      kind: 'acts',
      // What would end with the member is named on a page of its own.
      cell: ({ user_id, display_name }) =>
        held.has(user_id)
          ? html`<a class="button quiet small" href="${base}/${user_id}">Role and removal</a>`
          : postButton(`${base}/${user_id}/remove`, 'Remove', {
              class: 'danger small',
              confirm: t`Remove ${display_name} from the company?`,
            }),
    },
  ];
}

function roleForm(base: string, { user_id, display_name, role }: CompanyUser): Html {
  const options = roleChoices().map(
    ({ value }) =>
      html`<option value="${value}" !${value === role ? 'selected' : ''}>${words(value)}</option>`,
  );
  return html`<form method="post" action="${base}/${user_id}/role" class="inline" data-autosubmit>
    <select name="role" class="small" aria-label="Role of ${display_name}">
      !${options.join('')}
    </select>
    <button class="quiet small">Change</button>
  </form>`;
}

/** Instance admins can pick from all users; company admins send invites. */
function addForm(
  base: string,
  outsiders: readonly { id: string; display_name: string; email: string }[],
): Html {
  return when(
    outsiders.length > 0,
    () =>
      html`<form class="card" method="post" action="${base}/add">
        <h2>Add an existing user</h2>
        <div class="row">
          !${select({ name: 'user_id', label: 'User', choices: outsiders.map(({ id, display_name, email }) => ({ value: id, label: display_name === email ? email : `${display_name} (${email})` })) })}
          !${select({ name: 'role', label: 'Role', value: 'member', choices: roleChoices() })}
          <button>Add</button>
        </div>
        !${when(outsiders.length === MOST_USERS, () => html`<p class="hint">The first ${MOST_USERS} by name. Others join by an <a href="${base}/invites">invite</a>.</p>`)}
      </form>`,
  );
}

const back = (verb: string) => (context: CompanyContext) => `${membersPath(context.company_id)}?done=${verb}`;

/** Users who demoted themselves may no longer see a member's page. */
const isAdminStill = (c: CompanyContext, user_id: string, role: string): boolean =>
  user_id !== c.user.user_id || role === 'admin' || isInstanceAdmin(c.user);

export const memberRoutes: UiRoute[] = [
  page('/companies/{companyId}/members', { scope: byCompany, role: 'viewer' }, (c) => membersPage(c)),
  action('/companies/{companyId}/members/add', companyEndpoints.addUser, {
    read: (form) => ({ user_id: form.text('user_id'), role: form.given('role') }),
    next: back('added'),
    failed: membersPage,
  }),
  page('/companies/{companyId}/members/{userId}', { scope: byCompany, role: 'admin' }, (c) => memberPage(c)),
  action('/companies/{companyId}/members/{userId}/role', companyEndpoints.changeUser, {
    read: (form) => ({ role: form.text('role'), keep_keys: form.checked('keep_keys') }),
    next: (c, { user_id }, form) =>
      form.has('page') && isAdminStill(c, user_id, form.text('role'))
        ? `${memberPath(c.company_id, user_id)}?done=role`
        : back('role')(c),
    failed: (c, error, form) => (form.has('page') ? memberPage(c, error) : membersPage(c, error)),
  }),
  action('/companies/{companyId}/members/{userId}/remove', companyEndpoints.removeUser, {
    query: keptQuery,
    // Users who removed themselves may no longer see the list.
    next: (c) =>
      c.params.userId === c.user.user_id && !isInstanceAdmin(c.user) ? '/companies' : back('removed')(c),
    failed: membersPage,
  }),
];
