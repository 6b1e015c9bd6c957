/** Shared frame of the cost pages: one navigation entry, with tabs below it. */
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import type { NavItem } from '../kit/navigation.ts';
import { notice, tabs } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export const costsPath = (company_id: string): string => `/companies/${company_id}/costs`;
export const entriesPath = (company_id: string): string => `${costsPath(company_id)}/entries`;
export const pricesPath = (company_id: string): string => `${costsPath(company_id)}/prices`;
/** Path of the form that sets a model's price. */
export const setPricePath = (company_id: string, model: string): string =>
  `${pricesPath(company_id)}?model=${encodeURIComponent(model)}#set`;
export const budgetsPath = (company_id: string): string => `/companies/${company_id}/budgets`;
export const incidentsPath = (company_id: string): string => `${budgetsPath(company_id)}/incidents`;

/** Notices shown after a redirect. */
const done: Record<string, string> = texts({
  reported: 'The spending has been recorded and counts towards the budgets.',
  created: 'The budget has been created. Spending in the current window already counts.',
  changed: 'Saved.',
  deleted: 'The budget has been deleted; what it had paused continues.',
  priced: 'The price has been set. It applies to runs that start from now on.',
  unpriced:
    'The price has been deleted. Costs are estimated from now on, unless the pricing file names the model.',
  raised: 'The limit is raised.',
  raised_continues:
    'The limit is raised. What the budget had stopped continues by itself, including work that it cut off.',
  raised_spent: 'The limit is raised, but more has been spent already: the next incident is open.',
  waived_continues:
    'Done. What the budget had stopped continues by itself, including work that it cut off. There will be no more warnings until the window ends.',
  waived: 'Done. There will be no more warnings until the window ends.',
});

interface CostsPage {
  title: string;
  /** Path of the current tab. */
  here: string;
  trail?: readonly NavItem[];
  actions?: Html;
  body: Html;
}

export async function costsPage(
  context: UiContext,
  { title, here, trail = [], actions = '', body }: CostsPage,
): Promise<Html> {
  const { company_id, query } = context;
  const items = [
    { label: t`Spending`, path: costsPath(company_id) },
    { label: t`Entries`, path: entriesPath(company_id) },
    { label: t`Budgets`, path: budgetsPath(company_id) },
    { label: t`Prices`, path: pricesPath(company_id) },
    { label: t`Past incidents`, path: incidentsPath(company_id) },
  ];
  return companyPage(context, {
    title,
    active: costsPath(company_id),
    trail,
    actions,
    body: html`!${tabs('Costs', items, here)}!${notice(done[query.done ?? ''])}!${body}`,
  });
}
