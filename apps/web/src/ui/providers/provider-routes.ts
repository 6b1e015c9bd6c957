import { providerEndpoints as rows, type ProviderTest } from '@acp/contract';
import { listProviders, presentProvider } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, notice } from '../kit/parts.ts';
import { moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { deletePart, providerColumns, providerForm, testPart } from './provider-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byProvider = { by: 'provider', param: 'providerId' } as const;
type ProviderContext = UiContext<'provider'>;

const listPath = (company_id: string): string => `/companies/${company_id}/providers`;

const done: Record<string, string> = texts({
  added: 'The provider has been added. Test it, then give it to an agent.',
  saved: 'Saved.',
  deleted: 'The provider has been deleted.',
});

async function providersPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listProviders(tx, company_id, searchOf(query));
  const path = listPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Providers', providerColumns, items)}!${moreLink(searched(path, query), next_cursor, 'Older providers')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No providers yet',
            html`Agents use the instance’s default until the company has its own.
              <a href="/companies/${company_id}/connect-model">Connect a model</a>.`,
          ),
        );
  const body = html`!${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor }, list)}!${providerForm(path, null, error, form)}`;
  const actions = html`<a class="button" href="/companies/${company_id}/connect-model">Connect a model</a>`;
  return companyPage(context, { title: t`Model providers`, active: path, actions, body });
}

async function providerPage(
  context: ProviderContext,
  error: string | null = null,
  form: FormValues | null = null,
  tested: ProviderTest | null = null,
): Promise<Html> {
  const { subject, company_id, query } = context;
  const provider = presentProvider(subject);
  const path = listPath(company_id);
  return companyPage(context, {
    title: provider.name,
    active: path,
    trail: [{ label: t`Model providers`, path }],
    body: html`!${notice(done[query.done ?? ''])}!${await asShown(providerForm(`/providers/${provider.id}`, provider, error, form), form)}
    !${testPart(provider, tested)}!${deletePart(provider)}`,
  });
}

/** An empty key or header is left unchanged. */
const readProvider = (form: FormValues) => ({
  name: form.sent('name'),
  adapter_type: form.given('adapter_type'),
  base_url: form.cleared('base_url'),
  api_key: form.given('api_key')?.trim(),
  custom_headers: form.json('custom_headers'),
  default_model: form.cleared('default_model'),
  is_default: form.ticked('is_default'),
  embedding_model: form.cleared('embedding_model'),
  embeddings: form.ticked('embeddings'),
  enabled: form.ticked('enabled'),
});

/** Write-only: never shown. */
const secrets = ['api_key', 'custom_headers'];

export const providerRoutes: UiRoute[] = [
  page('/companies/{companyId}/providers', { scope: byCompany, role: 'admin' }, (c) => providersPage(c)),
  action('/companies/{companyId}/providers', rows.create, {
    read: readProvider,
    next: (_, { id }) => `/providers/${id}?done=added`,
    failed: providersPage,
    secrets,
  }),
  page('/providers/{providerId}', { scope: byProvider, role: 'admin' }, (c) => providerPage(c)),
  action('/providers/{providerId}', rows.update, {
    read: readProvider,
    edits: (c) => providerPage(c),
    next: (c) => `/providers/${c.subject.id}?done=saved`,
    failed: providerPage,
    secrets,
  }),
  // The result is shown in this response: it is not stored.
  action('/providers/{providerId}/test', rows.test, {
    next: (c, tested) => providerPage(c, null, null, tested),
  }),
  action('/providers/{providerId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: (c, error) => providerPage(c, error),
  }),
];
