import { companyEndpoints, inviteEndpoints } from '@acp/contract';
import {
  listActivity,
  listAgents,
  listCompanies,
  listRuns,
  presentCompany,
  readInbox,
  summarizeCosts,
} from '@acp/core';
import { incidentLinks } from '../costs/incidents.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { companiesBody, dashboardBody, dashboardParts, type DashboardView } from './company-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const everywhere = { by: 'none' } as const;

const done: Record<string, string> = {
  deleted: 'The company is in the trash.',
  asked: 'You have asked to join. An administrator of the company decides.',
};

async function companiesPage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user } = context;
  const admin = user.instance_role === 'admin';
  const companies = (await listCompanies(tx, admin ? null : Object.keys(user.roles))).map(presentCompany);
  const said = done[context.query.done ?? ''] ?? null;
  return shell({
    title: 'Companies',
    user,
    company: null,
    active: '/companies',
    body: companiesBody(companies, admin, { error, form }, said),
  });
}

async function loadDashboard({ tx, user, company_id }: UiContext): Promise<DashboardView> {
  const now = new Date();
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())).toISOString();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
  const { agents } = await listAgents(tx, user, { company_id });
  const inbox = await readInbox(tx, user, company_id);
  return {
    company_id,
    agents,
    live: (await listRuns(tx, user, company_id, { status: 'running,queued', limit: 20 })).items,
    inbox,
    budgets: await incidentLinks(tx, company_id, inbox.budget_incidents),
    spend: {
      today: (await summarizeCosts(tx, company_id, { from: day })).total_usd,
      month: (await summarizeCosts(tx, company_id, { from: month })).total_usd,
    },
    activity: (await listActivity(tx, company_id, { limit: 20 })).items,
  };
}

export const companyRoutes: UiRoute[] = [
  page('/companies', { scope: everywhere, role: 'none' }, (c) => companiesPage(c)),
  action('/companies', companyEndpoints.create, {
    read: (form) => ({ name: form.text('name'), slug: form.text('slug') }),
    next: (_, company) => `/companies/${company.id}`,
    failed: companiesPage,
  }),
  action('/join-requests', inviteEndpoints.requestToJoin, {
    read: (form) => ({ company_id: form.text('company_id').trim(), message: form.given('message') }),
    next: () => '/companies?done=asked',
    failed: companiesPage,
  }),
  page('/companies/{companyId}', { scope: byCompany, role: 'viewer' }, async (context) => {
    const { company_id, fragment } = context;
    const view = await loadDashboard(context);
    if (fragment) return dashboardParts(view);
    return companyPage(context, {
      title: 'Dashboard',
      active: `/companies/${company_id}`,
      body: dashboardBody(view),
    });
  }),
];
