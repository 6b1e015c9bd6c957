import { type BudgetIncident, budgetEndpoints as rows } from '@acp/contract';
import {
  type BudgetUsage,
  budgetUsage,
  listBudgetIncidents,
  listBudgetPolicies,
  presentIncident,
} from '@acp/core';
import { invalid, notFound } from '@acp/kernel';
import { roleIn } from '../../http/roles.ts';
import { emptied, type FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { formLink } from '../kit/parts.ts';
import { pageOf, samePage } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { budgetBody, budgetPart, budgetsParts, type BudgetsView, newBudgetForm } from './budget-pages.ts';
import { budgetName, incidentTitle } from './budget-words.ts';
import { budgetsPath, costsPage, incidentsPath } from './costs-frame.ts';
import { incidentBody, pastIncidentsBody } from './incident-pages.ts';
import { withBudgets } from './incidents.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byPolicy = { by: 'budget_policy', param: 'policyId' } as const;
const byIncident = { by: 'budget_incident', param: 'incidentId' } as const;
type PolicyContext = UiContext<'budget_policy'>;
type IncidentContext = UiContext<'budget_incident'>;

const isAdmin = ({ user, company_id }: UiContext): boolean => roleIn(user, company_id) === 'admin';

async function loadBudgets(context: UiContext<'company'>): Promise<BudgetsView> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listBudgetPolicies(tx, company_id, pageOf(query));
  const policy_ids = items.map(({ id }) => id);
  const open = await listBudgetIncidents(tx, company_id, { status: 'open', limit: 200 });
  return {
    company_id,
    budgets: await budgetUsage(tx, company_id, { policy_ids }),
    next_cursor,
    open: await withBudgets(tx, company_id, open.items),
    is_admin: isAdmin(context),
  };
}

async function budgetsPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { company_id, fragment, query } = context;
  const view = await loadBudgets(context);
  if (fragment && error === null) return budgetsParts(view);
  const here = budgetsPath(company_id);
  const fresh = view.is_admin ? await newBudgetForm(context, error, form) : '';
  const body = html`<div
      class="stack"
      data-live="budget_incident runs"
      data-source="${samePage(here, query)}"
    >
      !${budgetsParts(view)}
    </div>
    !${fresh}`;
  const actions = fresh ? formLink(t`New budget`, 'agent_id') : '';
  return costsPage(context, { title: t`Budgets`, here, actions, body });
}

async function usageOf({ tx, company_id }: UiContext, policy_id: string): Promise<BudgetUsage> {
  const [usage] = await budgetUsage(tx, company_id, { policy_ids: [policy_id] });
  if (!usage) throw notFound();
  return usage;
}

async function budgetPage(
  context: PolicyContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const usage = await usageOf(context, context.subject.id);
  const here = budgetsPath(context.company_id);
  return costsPage(context, {
    title: budgetName(usage),
    here,
    trail: [{ label: t`Budgets`, path: here }],
    body: await budgetBody(usage, error, form),
  });
}

async function pastIncidentsPage(context: UiContext<'company'>): Promise<Html> {
  const { tx, company_id, query } = context;
  const filter = { status: 'resolved', ...pageOf(query) };
  const { items, next_cursor } = await listBudgetIncidents(tx, company_id, filter);
  const here = incidentsPath(company_id);
  const body = pastIncidentsBody(here, await withBudgets(tx, company_id, items), next_cursor);
  return costsPage(context, { title: t`Past incidents`, here, body });
}

async function incidentPage(
  context: IncidentContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, subject } = context;
  const [of] = await withBudgets(tx, company_id, [presentIncident(subject)]);
  if (!of) throw notFound();
  const isOpen = of.incident.status === 'open';
  const here = isOpen ? budgetsPath(company_id) : incidentsPath(company_id);
  return costsPage(context, {
    title: incidentTitle(of.incident, of.usage),
    here,
    trail: [{ label: isOpen ? t`Budgets` : t`Past incidents`, path: here }],
    body: incidentBody(of, isAdmin(context), error, form),
  });
}

/** The notice that says what happens next. */
async function resolvedAs(context: UiContext, { kind, policy_id, waived }: BudgetIncident): Promise<string> {
  const { policy, spent_usd } = await usageOf(context, policy_id);
  if (!waived && spent_usd >= policy.limit_usd) return 'raised_spent';
  const stopped = kind === 'breach' && policy.action === 'pause' && policy.enabled;
  return `${waived ? 'waived' : 'raised'}${stopped ? '_continues' : ''}`;
}

/** An empty field is not a limit: it means neither unlimited nor unchanged. */
function limitOf(form: FormValues): number {
  const limit = form.number('limit_usd');
  if (limit === undefined) throw emptied('limit_usd');
  return limit;
}

const readLimits = (form: FormValues) => ({
  limit_usd: form.are_changes && !form.has('limit_usd') ? undefined : limitOf(form),
  window: form.given('window'),
  warn_percent: form.number('warn_percent'),
  action: form.given('at_limit'),
  enabled: form.has('enabled') ? form.checked('enabled') : undefined,
});

function readScope(form: FormValues): { scope_type: string; scope_id: string | undefined } {
  const [agent_id, project_id] = [form.given('agent_id'), form.given('project_id')];
  if (agent_id !== undefined && project_id !== undefined)
    throw invalid('project_id: a budget bounds an agent or a project, not both');
  if (agent_id !== undefined) return { scope_type: 'agent', scope_id: agent_id };
  return { scope_type: project_id === undefined ? 'company' : 'project', scope_id: project_id };
}

export const budgetRoutes: UiRoute[] = [
  page('/companies/{companyId}/budgets', { scope: byCompany, role: 'viewer' }, (c) => budgetsPage(c)),
  action('/companies/{companyId}/budgets', rows.createPolicy, {
    read: (form) => ({ ...readScope(form), ...readLimits(form) }),
    next: (c) => `${budgetsPath(c.company_id)}?done=created`,
    failed: budgetsPage,
  }),
  page('/companies/{companyId}/budgets/incidents', { scope: byCompany, role: 'viewer' }, pastIncidentsPage),
  page('/budget-policies/{policyId}', { scope: byPolicy, role: 'admin' }, (c) => budgetPage(c)),
  page('/budget-policies/{policyId}/part/usage', { scope: byPolicy, role: 'admin' }, async (c) =>
    budgetPart(await usageOf(c, c.subject.id)),
  ),
  action('/budget-policies/{policyId}', rows.updatePolicy, {
    read: readLimits,
    edits: (c) => budgetPage(c),
    next: (c) => `/budget-policies/${c.subject.id}?done=changed`,
    failed: budgetPage,
  }),
  action('/budget-policies/{policyId}/delete', rows.deletePolicy, {
    next: (c) => `${budgetsPath(c.company_id)}?done=deleted`,
    failed: (c, error) => budgetPage(c, error),
  }),
  page('/budget-incidents/{incidentId}', { scope: byIncident, role: 'viewer' }, (c) => incidentPage(c)),
  action('/budget-incidents/{incidentId}/resolve', rows.resolveIncident, {
    // Explicit: a forgotten limit must not become a waiver.
    read: (form) => ({
      limit_usd: form.text('choice') === 'waive' ? undefined : limitOf(form),
      note: form.cleared('note'),
    }),
    next: async (c, incident) => `${budgetsPath(c.company_id)}?done=${await resolvedAs(c, incident)}`,
    failed: incidentPage,
  }),
];
