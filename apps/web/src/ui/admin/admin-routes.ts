import { identityEndpoints, type User } from '@acp/contract';
import { enrolUser, hashPassword, listUsers, presentUser, readTicks, updateUser } from '@acp/core';
import { timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html } from '../kit/html.ts';
import { formError, input, postButton, select, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;

async function usersPage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, query } = context;
  const { items, next_cursor } = await listUsers(
    tx,
    { limit: 50, ...(query.cursor ? { cursor: query.cursor } : {}) },
    presentUser,
  );
  const more = next_cursor
    ? html`<p><a href="/admin/users?cursor=${encodeURIComponent(next_cursor)}">More users</a></p>`
    : '';
  const typed = (name: string): string => form?.text(name) ?? '';
  const body = html`!${formError(error)}
    <div class="card scroll-x" tabindex="0">
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>E-mail</th>
            <th>Role</th>
            <th>State</th>
            <th>Last login</th>
            <th></th>
          </tr>
        </thead>
        <tbody>
          !${each(items, (row) => userRow(row, user.user_id))}
        </tbody>
      </table>
    </div>
    !${more}
    <form class="card" method="post" action="/admin/users">
      <h2>New user</h2>
      <div class="row">
        !${input({ name: 'display_name', label: 'Name', required: true, value: typed('display_name') })}
        !${input({ name: 'email', label: 'E-mail', type: 'email', required: true, value: typed('email') })}
        !${input({ name: 'password', label: 'Password', type: 'password', required: true, minlength: 8, autocomplete: 'new-password' })}
        !${select({ name: 'instance_role', label: 'Role', value: typed('instance_role') || 'member', choices: ['member', 'admin'].map((value) => ({ value, label: value })) })}
        <button>Create</button>
      </div>
    </form>`;
  return shell({ title: 'Users', user, company: null, active: '/admin/users', body });
}

function userRow(row: User, self: string): Html {
  const post = (label: string, fields: Record<string, string>, style: string): Html =>
    row.id === self ? '' : postButton(`/admin/users/${row.id}`, label, { class: style, fields });
  return html`<tr>
    <td>${row.display_name}</td>
    <td>${row.email}</td>
    <td>${row.instance_role}</td>
    <td>!${status(row.is_active ? 'active' : 'disabled')}</td>
    <td>!${timeAgo(row.last_login_at)}</td>
    <td>
      !${row.is_active ? post('Deactivate', { is_active: '' }, 'danger small') : post('Activate', { is_active: 'on' }, 'quiet small')}
      !${row.instance_role === 'admin' ? post('Make member', { instance_role: 'member' }, 'quiet small') : post('Make admin', { instance_role: 'admin' }, 'quiet small')}
    </td>
  </tr>`;
}

async function healthPage({ tx, user }: UiContext<'none'>): Promise<Html> {
  const workers = await readTicks(tx);
  const row = ({ worker, ticks, errors, schedulers }: (typeof workers)[number]): Html =>
    html`<tr>
      <td>${worker}</td>
      <td class="number">${ticks}</td>
      <td class="number">${errors}</td>
      <td class="number">${schedulers}</td>
    </tr>`;
  const table = html`<table>
    <thead>
      <tr>
        <th>Worker</th>
        <th>Ticks</th>
        <th>Errors</th>
        <th>Schedulers</th>
      </tr>
    </thead>
    <tbody>
      !${each(workers, row)}
    </tbody>
  </table>`;
  const body = html`<p>Machine-readable: <a href="/readyz">/readyz</a>, <a href="/metrics">/metrics</a>.</p>
    <section class="card scroll-x" tabindex="0">
      <h2>Background workers of the last minute</h2>
      !${workers.length > 0 ? table : html`<p class="error">No scheduler reports: runs do not start until one does.</p>`}
    </section>`;
  return shell({ title: 'Health', user, company: null, active: '/admin/health', body });
}

export const adminRoutes: UiRoute[] = [
  page('/admin/users', instance, (c) => usersPage(c)),
  action('/admin/users', identityEndpoints.createUser, {
    read: (form) => ({
      display_name: form.text('display_name'),
      email: form.text('email'),
      password: form.text('password'),
      instance_role: form.given('instance_role'),
    }),
    run: async (c) => {
      const { email, display_name, password, instance_role = 'member' } = c.body;
      const password_hash = await hashPassword(password);
      return c.services.transaction((tx) =>
        enrolUser(tx, c.user, { email, display_name, password_hash, instance_role }),
      );
    },
    next: () => '/admin/users',
    failed: usersPage,
  }),
  action('/admin/users/{userId}', identityEndpoints.updateUser, {
    read: (form) => ({
      is_active: form.has('is_active') ? form.checked('is_active') : undefined,
      instance_role: form.given('instance_role'),
    }),
    run: (c) => updateUser(c.tx, c.user, c.params.userId!, c.body),
    next: () => '/admin/users',
    failed: (c, error) => usersPage(c, error),
  }),
  page('/admin/health', instance, healthPage),
];
