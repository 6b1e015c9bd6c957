import { budgetEndpoints as rows } from '@acp/contract';
import { companyPrices, findModelPrice, listModelPrices, summarizeCosts } from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { emptied, type FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { costsPage, pricesPath } from './costs-frame.ts';
import { monthOf } from './month.ts';
import { pricesBody } from './prices-page.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;

async function pricesPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, company_id, query } = context;
  const { items: prices, next_cursor } = await listModelPrices(tx, company_id, pageOf(query));
  const { from, to } = monthOf(undefined, new Date());
  const { groups: spent } = await summarizeCosts(tx, company_id, { from, to, group_by: 'model' });
  const is_admin = roleIn(user, company_id) === 'admin';
  const model = query.model?.replaceAll('\0', '') ?? '';
  return costsPage(context, {
    title: t`Prices`,
    here: pricesPath(company_id),
    body: await pricesBody({
      company_id,
      prices,
      next_cursor,
      spent,
      priced: new Set(Object.keys(await companyPrices(tx, company_id))),
      is_admin,
      model,
      present: await findModelPrice(tx, company_id, model),
      error,
      form,
    }),
  });
}

/** An empty field is not a price: it means neither free nor unchanged. */
function priceIn(form: FormValues, name: string): number {
  const price = form.number(name);
  if (price === undefined) throw emptied(name);
  return price;
}

export const pricesRoutes: UiRoute[] = [
  page('/companies/{companyId}/costs/prices', { scope: byCompany, role: 'viewer' }, (c) => pricesPage(c)),
  action('/companies/{companyId}/costs/prices', rows.setPrice, {
    read: ({ whole }) => ({
      model: whole.text('model').trim(),
      input_usd: priceIn(whole, 'input_usd'),
      output_usd: priceIn(whole, 'output_usd'),
      cached_usd: whole.number('cached_usd') ?? null,
    }),
    edits: (c) => pricesPage(c),
    next: (c) => `${pricesPath(c.company_id)}?done=priced`,
    failed: pricesPage,
  }),
  action('/companies/{companyId}/costs/prices/{priceId}/delete', rows.deletePrice, {
    next: (c) => `${pricesPath(c.company_id)}?done=unpriced`,
    failed: pricesPage,
  }),
];
