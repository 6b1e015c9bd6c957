import { type ImportedCompany, portabilityEndpoints as rows } from '@acp/contract';
import { listTemplates, slugOf } from '@acp/core';
import { invalid } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { companiesPage } from '../companies/companies-page.ts';
import { foundedBody, portabilityBody, type PortabilityView } from './portability-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;

async function portabilityPage(
  context: UiContext<'company'>,
  { outcome = null, error = null }: Partial<Pick<PortabilityView, 'outcome' | 'error'>> = {},
): Promise<Html> {
  const { company_id, services } = context;
  const templates = await listTemplates(services.portability.templates);
  const settings = `/companies/${company_id}/settings`;
  return companyPage(context, {
    title: t`Export and import`,
    active: settings,
    trail: [{ label: t`Settings`, path: settings }],
    body: portabilityBody({ company_id, templates, outcome, error }),
  });
}

/** `label = key` lines. A key may contain any character except a line break. @throws invalid */
function keysOf(form: FormValues): Record<string, string> | undefined {
  const lines = (form.given('provider_keys') ?? '').split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  const pairs = lines.map((line) => {
    const at = line.indexOf('=');
    if (at < 1) throw invalid('provider_keys: write one a line, the label of the provider = its key');
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
  });
  return Object.fromEntries(pairs);
}

/** The result of an import as a new company. A ready-made team has nothing to warn of that the notice does not say. */
async function founded(
  context: UiContext<'none'>,
  result: ImportedCompany,
  form: FormValues,
): Promise<string> {
  const { company_id } = result;
  if (company_id === null) return companiesPage(context, null, form, result);
  if (form.has('template')) return `/companies/${company_id}?done=imported`;
  return shell({
    title: form.text('name'),
    user: context.user,
    company: null,
    active: '/companies',
    trail: [{ label: t`Companies`, path: '/companies' }],
    body: foundedBody(company_id, result),
  });
}

const secrets = ['provider_keys'];
/** Only the import button changes anything. */
const isPreview = (form: FormValues): boolean => form.text('act') !== 'import';

export const portabilityUiRoutes: UiRoute[] = [
  page('/companies/{companyId}/portability', { scope: byCompany, role: 'admin' }, (c) => portabilityPage(c)),
  action('/companies/{companyId}/import', rows.import, {
    scope: byCompany,
    read: (form, { company_id }) => ({
      company_id,
      template: form.given('template'),
      provider_keys: keysOf(form),
      dry_run: isPreview(form),
    }),
    next: (context, result: ImportedCompany, form) =>
      portabilityPage(context, { outcome: { result, preview: isPreview(form) } }),
    failed: (context, error) => portabilityPage(context, { error }),
    secrets,
  }),
  action('/companies/{companyId}/first-team', rows.import, {
    scope: byCompany,
    read: (form, { company_id }) => ({ company_id, template: form.text('template') }),
    next: ({ company_id }) => `/companies/${company_id}?done=team`,
  }),
  action('/companies/import', rows.import, {
    read: (form) => ({
      new_company: { name: form.text('name'), slug: form.given('slug') ?? slugOf(form.text('name')) },
      template: form.given('template'),
      provider_keys: keysOf(form),
      dry_run: form.has('act') && isPreview(form),
    }),
    next: founded,
    failed: (context, error, form) => companiesPage(context, error, form),
    secrets,
  }),
];
