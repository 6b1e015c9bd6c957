import { budgetEndpoints as rows } from '@acp/contract';
import { agentOutlinesById, listCostEvents, presentProjectIds, summarizeCostsBy } from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { offerOf } from '../kit/choice.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { costsPage, costsPath, entriesPath } from './costs-frame.ts';
import { entriesBody } from './entries-page.ts';
import { type Month, monthOf, neighbours } from './month.ts';
import { spendingBody, type SpendingView } from './spending-page.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;

async function loadSpending({ tx, user, company_id, query }: UiContext, month: Month): Promise<SpendingView> {
  const { from, to } = month;
  const groups = ['day', 'agent', 'project', 'model'] as const;
  const [by_day, by_agent, by_project, by_model] = await summarizeCostsBy(
    tx,
    company_id,
    { from, to },
    groups,
  );
  const agents = await agentOutlinesById(
    tx,
    company_id,
    by_agent!.groups.map(({ key }) => key),
  );
  const projects = await presentProjectIds(
    tx,
    company_id,
    by_project!.groups.map(({ key }) => key),
  );
  return {
    company_id,
    is_admin: roleIn(user, company_id) === 'admin',
    query,
    month,
    today: new Date().toISOString().slice(0, 10),
    by_day: by_day!,
    by_agent: by_agent!,
    by_project: by_project!,
    by_model: by_model!,
    present: new Set([...agents.map(({ id }) => id), ...projects]),
  };
}

async function spendingPage(context: UiContext<'company'>): Promise<Html> {
  const now = new Date();
  const month = monthOf(context.query.month, now);
  const path = costsPath(context.company_id);
  const body = spendingBody(await loadSpending(context, month));
  if (context.fragment) return body;
  const source = context.query.all === 'yes' ? `${path}?all=yes` : path;
  const present = monthOf(undefined, now).key;
  const { before, after } = neighbours(month);
  const link = ({ key, name }: Month, rel: 'prev' | 'next'): Html =>
    html`<a class="button quiet small" href="${path}?month=${key}" rel="${rel}">${name}</a>`;
  return costsPage(context, {
    title: t`Costs`,
    here: path,
    actions: html`!${link(before, 'prev')}!${when(month.key < present, () => link(after, 'next'))}`,
    // A month that is over stays as it is. Sums of a whole month at most every ten seconds, however many runs end.
    body:
      month.key < present
        ? body
        : html`<div data-live="runs" data-pace="10000" data-source="${source}">!${body}</div>`,
  });
}

async function entriesPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items: entries, next_cursor } = await listCostEvents(tx, company_id, pageOf(query));
  const agents = await agentOutlinesById(
    tx,
    company_id,
    entries.map(({ agent_id }) => agent_id),
  );
  const offer = await offerOf(context, 'agent', form?.text('agent_id'));
  const can_write = mayWrite(context);
  return costsPage(context, {
    title: t`Entries`,
    here: entriesPath(company_id),
    body: entriesBody({ company_id, entries, next_cursor, agents, offer, can_write, error, form }),
  });
}

export const costsRoutes: UiRoute[] = [
  page('/companies/{companyId}/costs', { scope: byCompany, role: 'viewer' }, spendingPage),
  page('/companies/{companyId}/costs/entries', { scope: byCompany, role: 'viewer' }, (c) => entriesPage(c)),
  action('/companies/{companyId}/costs/entries', rows.createCostEvent, {
    read: (form) => ({
      provider: form.text('provider'),
      model: form.text('model'),
      cost_usd: form.number('cost_usd'),
      agent_id: form.chosen('agent_id') ?? undefined,
      input_tokens: form.number('input_tokens'),
      output_tokens: form.number('output_tokens'),
    }),
    next: (c) => `${entriesPath(c.company_id)}?done=reported`,
    failed: entriesPage,
  }),
];
