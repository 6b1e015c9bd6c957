import { identityEndpoints, type User } from '@acp/contract';
import { assertChosenPassword, listUsers, presentUser } from '@acp/core';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { formError, formLink, input, notice, select, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const PATH = '/admin/users';
const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;

async function usersPage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, query } = context;
  const { items, next_cursor } = await listUsers(tx, searchOf(query), presentUser);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Users', userColumns, items)}!${moreLink(searched(PATH, query), next_cursor, 'More users')}
        </div>`
      : nothingListed(PATH, query, () => '');
  const errors = new FieldErrors(error, ['display_name', 'email', 'password'], { email: 'email' });
  const typed = (name: string): string => form?.text(name) ?? '';
  const body = html`!${formError(errors.general)}!${notice(done[query.done ?? ''])}
    !${searchedList(PATH, query, { items, next_cursor }, list)}
    <form class="card" method="post" action="${PATH}">
      <h2>New user</h2>
      <div class="row">
        !${input({ name: 'display_name', label: 'Name', required: true, value: typed('display_name'), error: errors.of('display_name') })}
        !${input({ name: 'email', label: 'E-mail', type: 'email', required: true, value: typed('email'), error: errors.of('email') })}
        !${input({ name: 'password', label: 'Password', type: 'password', required: true, minlength: 8, autocomplete: 'new-password', error: errors.of('password') })}
        !${select({ name: 'instance_role', label: 'Role', value: typed('instance_role') || 'member', choices: ['member', 'admin'].map((value) => ({ value, label: words(value) })) })}
        <button>Create</button>
      </div>
    </form>`;
  const actions = formLink(t`New user`, 'display_name');
  return shell({ title: t`Users`, user, company: null, active: PATH, actions, body });
}

const done: Record<string, string> = texts({
  created: 'The account has been created.',
  deleted: 'The account has been deleted.',
});

const userColumns: Column<User>[] = [
  { label: 'Name', cell: ({ id, display_name }) => html`<a href="/admin/users/${id}">${display_name}</a>` },
  { label: 'E-mail', cell: ({ email }) => html`${email}` },
  { label: 'Role', cell: ({ instance_role }) => html`${words(instance_role)}` },
  { label: 'State', cell: ({ is_active }) => status(is_active ? 'active' : 'disabled') },
  { label: 'Last login', cell: ({ last_login_at }) => timeAgo(last_login_at) },
];

export const adminRoutes: UiRoute[] = [
  page(PATH, instance, (c) => usersPage(c)),
  action(PATH, identityEndpoints.createUser, {
    read: (form) => ({
      display_name: form.text('display_name'),
      email: form.text('email'),
      password: form.text('password'),
      instance_role: form.given('instance_role'),
    }),
    check: (c, form) =>
      assertChosenPassword(c.tx, form.text('password'), [form.text('email'), form.text('display_name')]),
    next: () => `${PATH}?done=created`,
    failed: usersPage,
  }),
];
