import { identityEndpoints, type User } from '@acp/contract';
import { countPluginWalls, listUsers, presentUser, readTicks } from '@acp/core';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { formError, input, notice, postButton, select, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, moreLink, pageOf, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { boundTable } from '../plugins/state-parts.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;

async function usersPage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, query } = context;
  const { items, next_cursor } = await listUsers(tx, pageOf(query), presentUser);
  const errors = new FieldErrors(error, ['display_name', 'email', 'password'], { email: 'email' });
  const typed = (name: string): string => form?.text(name) ?? '';
  const body = html`!${formError(errors.general)}!${notice(done[query.done ?? ''])}
    <div class="card">
      !${table('Users', userColumns, items)}!${moreLink('/admin/users', next_cursor, 'More users')}
    </div>
    <form class="card" method="post" action="/admin/users">
      <h2>New user</h2>
      <div class="row">
        !${input({ name: 'display_name', label: 'Name', required: true, value: typed('display_name'), error: errors.of('display_name') })}
        !${input({ name: 'email', label: 'E-mail', type: 'email', required: true, value: typed('email'), error: errors.of('email') })}
        !${input({ name: 'password', label: 'Password', type: 'password', required: true, minlength: 8, autocomplete: 'new-password', error: errors.of('password') })}
        !${select({ name: 'instance_role', label: 'Role', value: typed('instance_role') || 'member', choices: ['member', 'admin'].map((value) => ({ value, label: value })) })}
        <button>Create</button>
      </div>
    </form>`;
  return shell({ title: 'Users', user, company: null, active: '/admin/users', body });
}

const done: Record<string, string> = {
  created: 'The account is there.',
  deleted: 'The account is deleted.',
};

const userColumns: Column<User>[] = [
  { label: 'Name', cell: ({ id, display_name }) => html`<a href="/admin/users/${id}">${display_name}</a>` },
  { label: 'E-mail', cell: ({ email }) => html`${email}` },
  { label: 'Role', cell: ({ instance_role }) => html`${instance_role}` },
  { label: 'State', cell: ({ is_active }) => status(is_active ? 'active' : 'disabled') },
  { label: 'Last login', cell: ({ last_login_at }) => timeAgo(last_login_at) },
];

type Worker = Awaited<ReturnType<typeof readTicks>>[number];

const workerColumns: Column<Worker>[] = [
  { label: 'Worker', cell: ({ worker }) => html`${worker}` },
  { label: 'Ticks', kind: 'number', cell: ({ ticks }) => html`${ticks}` },
  { label: 'Errors', kind: 'number', cell: ({ errors }) => html`${errors}` },
  { label: 'Schedulers', kind: 'number', cell: ({ schedulers }) => html`${schedulers}` },
];

/** What running plugins are shut in with. */
function pluginWalls(counts: Awaited<ReturnType<typeof countPluginWalls>>): Html {
  return html`<section class="card">
    <h2>Sandboxes of running plugins</h2>
    !${each(
      counts,
      ({ sandbox, bounds, plugins }) =>
        html`<h3>${plugins} in ${sandbox ?? 'an unknown sandbox'}</h3>
          !${when(sandbox === 'bare', () => html`<p>!${status('warn')} no walls: bare processes of the scheduler</p>`)}
          !${when(bounds, boundTable)}`,
    )}
  </section>`;
}

async function healthPage({ tx, user }: UiContext<'none'>): Promise<Html> {
  const workers = await readTicks(tx);
  const walls = await countPluginWalls(tx);
  const body = html`<p>Machine-readable: <a href="/readyz">/readyz</a>, <a href="/metrics">/metrics</a>.</p>
    <section class="card">
      <h2>Background workers of the last minute</h2>
      !${workers.length > 0 ? table('Background workers', workerColumns, workers, { narrow: true }) : html`<p class="error">No scheduler reports: runs do not start until one does.</p>`}
    </section>
    !${when(walls.length > 0, () => pluginWalls(walls))}
    <section class="card">
      <h2>Model providers of the instance</h2>
      <p>What the environment configures, asked by a scheduler: a list of models, or one token.</p>
      !${postButton('/admin/operations/providers/test', 'Test them', { class: 'quiet' })}
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
    next: () => '/admin/users?done=created',
    failed: usersPage,
  }),
  page('/admin/health', instance, healthPage),
];
