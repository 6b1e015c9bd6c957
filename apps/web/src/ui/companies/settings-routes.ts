import { agentOrgEndpoints, companyEndpoints, logoEndpoints } from '@acp/contract';
import { agentDefaults, presentCompany } from '@acp/core';
import { invalid, said } from '@acp/kernel';
import { companyPage, logoOf, requireCompany } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { type Refused, type Section, settingsBody } from './settings-pages.ts';

type CompanyContext = UiContext<'company'>;
const byCompany = { by: 'company', param: 'companyId' } as const;
const settingsPath = (company_id: string): string => `/companies/${company_id}/settings`;

const done: Record<string, string> = texts({
  general: 'Saved.',
  agents: 'Saved. New agents start with this.',
  logo: 'The logo has been saved.',
  'no-logo': 'The logo has been removed.',
});

async function settingsPage(context: CompanyContext, refused: Refused | null): Promise<Html> {
  const { tx, company_id, query } = context;
  const company = presentCompany(await requireCompany(tx, company_id));
  const body = await settingsBody({
    company,
    defaults: await agentDefaults(tx, company_id),
    logo: await logoOf(tx, company_id),
    done: done[query.done ?? ''] ?? null,
    refused,
  });
  return companyPage(context, { title: t`Settings`, active: settingsPath(company_id), body });
}

const edits = (context: CompanyContext): Promise<Html> => settingsPage(context, null);

const refusedIn = (section: Section) => (context: CompanyContext, error: string, form: FormValues) =>
  settingsPage(context, { section, error, form });

const back = (what: string) => (context: CompanyContext) =>
  `${settingsPath(context.company_id)}?done=${what}`;

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

export const companySettingsRoutes: UiRoute[] = [
  page('/companies/{companyId}/settings', { scope: byCompany, role: 'admin' }, (c) => settingsPage(c, null)),
  action('/companies/{companyId}/settings', companyEndpoints.update, {
    edits,
    read: (form) => ({
      name: form.sent('name'),
      slug: form.sent('slug'),
      home_dir: form.cleared('home_dir'),
      default_worker_tags: form.has('default_worker_tags')
        ? listOf(form.text('default_worker_tags'))
        : undefined,
      require_second_factor: form.ticked('require_second_factor'),
    }),
    next: back('general'),
    failed: refusedIn('general'),
  }),
  action('/companies/{companyId}/settings/agents', agentOrgEndpoints.updateDefaults, {
    edits,
    read: (form) => ({
      adapter_type: form.given('adapter_type'),
      adapter_config: form.entries('adapter_config'),
      heartbeat_enabled: form.ticked('heartbeat_enabled'),
      heartbeat_interval_sec: form.number('heartbeat_interval_sec'),
    }),
    next: back('agents'),
    failed: refusedIn('agents'),
  }),
  action('/companies/{companyId}/logo', logoEndpoints.put, {
    read: (form) => ({ theme: form.given('theme') }),
    next: back('logo'),
    failed: refusedIn('logo'),
  }),
  action('/companies/{companyId}/logo/delete', logoEndpoints.delete, {
    next: back('no-logo'),
    failed: refusedIn('logo'),
  }),
  // The name must be typed, so that no one deletes a company by accident.
  action('/companies/{companyId}/delete', companyEndpoints.delete, {
    check: async ({ tx, company_id }, form) => {
      const { slug } = await requireCompany(tx, company_id);
      if (form.text('slug') !== slug) throw invalid(said`Type ${slug} to delete the company.`);
    },
    next: () => '/companies?done=deleted',
    failed: refusedIn('delete'),
  }),
];
