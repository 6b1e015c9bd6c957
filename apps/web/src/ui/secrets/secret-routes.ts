import { type Secret, secretEndpoints as rows } from '@acp/contract';
import { listSecrets } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formError, formLink, input, notice, postButton, textarea } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const bySecret = { by: 'secret', param: 'secretId' } as const;
type SecretContext = UiContext<'secret'>;

const listPath = (company_id: string): string => `/companies/${company_id}/secrets`;

/** The reference used in configurations. */
const placeholder = (name: string): string => `\${secret:${name}}`;

const done: Record<string, string> = texts({
  created: 'The secret is stored.',
  changed: 'Saved.',
  deleted: 'The secret has been deleted; anything that references it now fails.',
});

const columns: Column<Secret>[] = [
  { label: 'Name', cell: ({ id, name }) => html`<a href="/secrets/${id}"><code>${name}</code></a>` },
  { label: 'What it is', cell: ({ description }) => html`<span class="prose">${description ?? ''}</span>` },
  { label: 'Version', kind: 'number', cell: ({ version }) => html`${version}` },
  { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at) },
  { label: 'Changed', cell: ({ updated_at }) => timeAgo(updated_at) },
];

async function secretsPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query, services } = context;
  const { items, next_cursor } = await listSecrets(tx, company_id, searchOf(query));
  const path = listPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Secrets', columns, items)}!${moreLink(searched(path, query), next_cursor, 'Older secrets')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No secrets yet',
            html`Store a key or a password below, then write <code>${placeholder('NAME')}</code> where an
              agent’s configuration needs it.`,
          ),
        );
  const body = html`!${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor }, list)}
  !${services.vault.available ? newForm(path, error, form) : noKey()}`;
  const actions = services.vault.available && items.length > 0 ? formLink(t`New secret`, 'name') : '';
  return companyPage(context, { title: t`Secrets`, active: path, actions, body });
}

const noKey = (): Html =>
  html`<p class="notice">
    This instance has no SERVICE_ENCRYPTION_KEY, so nothing can be stored. Its operator sets one, or runs
    <code>npm run ctl -- secrets make-key</code> and starts the service again.
  </p>`;

/** Refilled with what was typed except the value: no page ever contains one. */
function newForm(path: string, error: string | null, form: FormValues | null): Html {
  const errors = new FieldErrors(error, ['name', 'value', 'description'], { 'this name': 'name' });
  return html`<form class="card" method="post" action="${path}">
    <h2>New secret</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', required: true, value: form?.text('name') ?? '', hint: 'Capitals, digits and underscores: API_KEY', error: errors.of('name') })}
      !${input({ name: 'description', label: 'What it is', value: form?.text('description') ?? '', error: errors.of('description') })}
    </div>
    !${textarea({ name: 'value', label: 'Value', secret: true, rows: 3, mono: true, required: true, hint: 'Never shown again', error: errors.of('value') })}
    <button>Store</button>
  </form>`;
}

async function secretPage(
  context: SecretContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { subject, company_id, services, query } = context;
  const path = listPath(company_id);
  const errors = new FieldErrors(error, ['value', 'description']);
  const value = services.vault.available
    ? textarea({
        name: 'value',
        label: 'New value',
        secret: true,
        rows: 3,
        mono: true,
        hint: 'Empty: the value stays as it is. A new value is a new version, used from the next run on',
        error: errors.of('value'),
      })
    : noKey();
  const fields = html`<form class="card" method="post" action="/secrets/${subject.id}">
    <dl class="facts">
      <dt>Version</dt>
      <dd>${subject.version}</dd>
      <dt>Last used</dt>
      <dd>!${timeAgo(subject.last_used_at)}</dd>
      <dt>Changed</dt>
      <dd>!${timeAgo(subject.updated_at)}</dd>
    </dl>
    !${input({ name: 'description', label: 'What it is', value: form?.sent('description') ?? subject.description, error: errors.of('description') })}
    !${value}
    <button>Save</button>
  </form>`;
  const body = html`!${formError(errors.general)}!${notice(done[query.done ?? ''])}!${await asShown(fields, form)}
    <section class="card danger">
      <h2>Delete</h2>
      <p>
        Anything that references <code>${placeholder(subject.name)}</code> will fail. Secrets have no trash.
      </p>
      !${postButton(`/secrets/${subject.id}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete ${subject.name}?` })}
    </section>`;
  return companyPage(context, {
    title: subject.name,
    active: path,
    trail: [{ label: t`Secrets`, path }],
    body,
  });
}

export const secretRoutes: UiRoute[] = [
  page('/companies/{companyId}/secrets', { scope: byCompany, role: 'admin' }, (c) => secretsPage(c)),
  action('/companies/{companyId}/secrets', rows.create, {
    read: (form) => ({
      name: form.text('name'),
      value: form.text('value'),
      description: form.cleared('description'),
    }),
    next: (c) => `${listPath(c.company_id)}?done=created`,
    failed: secretsPage,
    secrets: ['value'],
  }),
  page('/secrets/{secretId}', { scope: bySecret, role: 'admin' }, (c) => secretPage(c)),
  action('/secrets/{secretId}', rows.update, {
    read: (form) => ({ value: form.given('value'), description: form.cleared('description') }),
    edits: (c) => secretPage(c),
    next: (c) => `/secrets/${c.subject.id}?done=changed`,
    failed: secretPage,
    secrets: ['value'],
  }),
  action('/secrets/{secretId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: (c, error) => secretPage(c, error),
  }),
];
