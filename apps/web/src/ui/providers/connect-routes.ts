/** Connecting a model in one go: vendor and key, then one of the listed models as the company's default. */
import { providerEndpoints as rows, type ProviderTest } from '@acp/contract';
import { hasDefaultProvider, presentProvider } from '@acp/core';
import { ServiceError } from '@acp/kernel';
import { testProvider } from '../../api/providers/test-provider.ts';
import { stepsAround } from '../companies/first-steps.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { askingPart, connectForm, modelPart, readEndpoint, readVendor } from './connect-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byProvider = { by: 'provider', param: 'providerId' } as const;

/** The company has no model yet: the page belongs to the first steps on its dashboard. */
async function isFirstStep({ tx, services, company_id }: UiContext): Promise<boolean> {
  return !services.has_model && !(await hasDefaultProvider(tx, company_id));
}

/** Where the page belongs, and the step that it is. */
async function placeOf(
  context: UiContext,
): Promise<{ active: string; trail: { label: string; path: string }[]; steps: Html }> {
  const { company_id } = context;
  const [list, dashboard] = [`/companies/${company_id}/providers`, `/companies/${company_id}`];
  return (await isFirstStep(context))
    ? { active: dashboard, trail: [{ label: t`Dashboard`, path: dashboard }], steps: stepsAround('model') }
    : { active: list, trail: [{ label: t`Model providers`, path: list }], steps: '' };
}

async function connectPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const path = `/companies/${context.company_id}/connect-model`;
  const { steps, ...place } = await placeOf(context);
  return companyPage(context, {
    title: t`Connect a model`,
    ...place,
    body: html`!${steps}
      <section class="card">
        !${connectForm({ path, stores_keys: context.services.vault.available, error, form })}
      </section>`,
  });
}

/** If no scheduler answers, the user can still type the model's name. */
async function probe({
  services,
  user,
  subject,
}: UiContext<'provider'>): Promise<ProviderTest & { stores_keys: boolean }> {
  const stores_keys = services.vault.available;
  try {
    return { ...(await testProvider(services, user, subject)), stores_keys };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'unavailable') throw error;
    const told = t`No scheduler answered, so it could not be asked. Type the name of a model instead.`;
    return { ok: false, model_count: null, models: null, latency_ms: 0, error: told, stores_keys };
  }
}

async function modelPage(
  context: UiContext<'provider'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const provider = presentProvider(context.subject);
  const { active, trail, steps } = await placeOf(context);
  // A scheduler queries the provider, however long that takes: the page is shown before that.
  const part =
    form === null && context.query.answer === undefined
      ? askingPart(provider)
      : modelPart(provider, await probe(context), error, form);
  return companyPage(context, {
    title: t`Connect ${provider.name}`,
    active,
    trail: steps === '' ? [...trail, { label: provider.name, path: `/providers/${provider.id}` }] : trail,
    body: html`!${steps}!${part}`,
  });
}

export const modelRoutes: UiRoute[] = [
  page('/companies/{companyId}/connect-model', { scope: byCompany, role: 'admin' }, (c) => connectPage(c)),
  action('/companies/{companyId}/connect-model', rows.create, {
    read: readVendor,
    next: (_, { id }) => `/providers/${id}/connect`,
    failed: connectPage,
    secrets: ['api_key'],
  }),
  page('/providers/{providerId}/connect', { scope: byProvider, role: 'admin' }, (c) => modelPage(c)),
  page('/providers/{providerId}/connect/part/model', { scope: byProvider, role: 'admin' }, async (c) =>
    modelPart(presentProvider(c.subject), await probe(c), null, null),
  ),
  action('/providers/{providerId}/connect', rows.update, {
    read: (form) => ({ default_model: form.text('default_model'), is_default: true }),
    next: ({ company_id }) => `/companies/${company_id}?done=connected`,
    failed: modelPage,
  }),
  action('/providers/{providerId}/connect/endpoint', rows.update, {
    read: readEndpoint,
    next: (c) => `/providers/${c.subject.id}/connect`,
    failed: modelPage,
    secrets: ['api_key'],
  }),
];
