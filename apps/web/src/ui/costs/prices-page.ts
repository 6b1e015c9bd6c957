/** Model prices: models priced by the company, models without a price, and the form for either. */
import type { CostSummary, ModelPrice } from '@acp/contract';
import { defaultRates } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { count, money, timeAgo, usd } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, formError, input, postButton } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { pricesPath, setPricePath } from './costs-frame.ts';

type Spent = CostSummary['groups'][number];

interface PricesView {
  company_id: string;
  prices: readonly ModelPrice[];
  next_cursor: string | null;
  /** This month's spending by model. */
  spent: readonly Spent[];
  /** Admins set prices; everyone else only sees them. */
  is_admin: boolean;
  /** Models that have a price, on whatever page of the list. */
  priced: ReadonlySet<string>;
  /** The model to set the price for, and the one it has. */
  model: string;
  present: ModelPrice | undefined;
  error: string | null;
  form: FormValues | null;
}

export async function pricesBody(view: PricesView): Promise<Html> {
  const { company_id, prices, next_cursor, is_admin } = view;
  const list =
    prices.length > 0
      ? html`<section class="card">
          <h2>Prices</h2>
          !${table('Prices', is_admin ? [...priceColumns, changeColumn(company_id)] : priceColumns, prices)}
          !${moreLink(pricesPath(company_id), next_cursor, 'Older prices')}
        </section>`
      : emptyState(
          'No prices set yet',
          html`The operator’s pricing file comes first. A model in neither list is estimated at
          ${usd(defaultRates.InputPer1K * 1000)} per million input tokens and
          ${usd(defaultRates.OutputPer1K * 1000)} per million output tokens.`,
        );
  return html`!${unpricedPart(view)}!${list}!${is_admin ? await priceForm(view) : ''}`;
}

/** Estimated costs are left out for models that have been priced since. */
function unpricedPart({ company_id, spent, priced, is_admin }: PricesView): Html {
  const unpriced = spent.filter(({ key, estimated_usd }) => estimated_usd > 0 && !priced.has(key ?? ''));
  const columns: Column<Spent>[] = [
    { label: 'Model', cell: ({ key }) => html`<code>${key ?? ''}</code>` },
    { label: 'Estimated', kind: 'number', cell: ({ estimated_usd }) => money(estimated_usd) },
    { label: 'Input tokens', kind: 'number', cell: ({ input_tokens }) => count(input_tokens) },
    { label: 'Output tokens', kind: 'number', cell: ({ output_tokens }) => count(output_tokens) },
  ];
  const act: Column<Spent> = {
    label: 'Actions',
    kind: 'acts',
    cell: ({ key }) =>
      html`<a class="button quiet small" href="${setPricePath(company_id, key ?? '')}">Set its price</a>`,
  };
  return when(
    unpriced.length > 0,
    () =>
      html`<section class="card">
        <h2>Price unknown, estimated</h2>
        <p class="soft">These were used this month without a known price. Budgets count the estimate.</p>
        !${table('Price unknown, estimated', is_admin ? [...columns, act] : columns, unpriced)}
      </section>`,
  );
}

const priceColumns: Column<ModelPrice>[] = [
  { label: 'Model', cell: ({ model }) => html`<code>${model}</code>` },
  { label: 'Per million input', kind: 'number', cell: ({ input_usd }) => money(input_usd) },
  { label: 'Per million output', kind: 'number', cell: ({ output_usd }) => money(output_usd) },
  {
    label: 'Per million cached',
    kind: 'number',
    cell: ({ input_usd, cached_usd }) => money(cached_usd ?? input_usd),
  },
  { label: 'Changed', cell: ({ updated_at }) => timeAgo(updated_at) },
];

const changeColumn = (company_id: string): Column<ModelPrice> => ({
  label: 'Actions',
  kind: 'acts',
  cell: ({ id, model }) =>
    html`<span class="buttons"
      ><a class="button quiet small" href="${setPricePath(company_id, model)}">Change</a
      >!${postButton(`${pricesPath(company_id)}/${id}/delete`, 'Remove', { class: 'quiet small', confirm: t`Remove the price of ${model}?` })}</span
    >`,
});

async function priceForm({ company_id, model, present, error, form }: PricesView): Promise<Html> {
  const errors = new FieldErrors(error, ['model', 'input_usd', 'output_usd', 'cached_usd']);
  const typed = (name: 'input_usd' | 'output_usd' | 'cached_usd'): string =>
    form?.sent(name) ?? String(present?.[name] ?? '');
  const path = present
    ? `${pricesPath(company_id)}?model=${encodeURIComponent(model)}`
    : pricesPath(company_id);
  const fields = html`<form class="card" method="post" action="${path}" id="set">
    <h2>!${model === '' ? html`Set a price` : html`Price of <code>${model}</code>`}</h2>
    <p class="soft">
      In USD per million tokens, as vendors quote it. It applies to runs that start from now on; past costs
      stay as they are. A model in the operator’s pricing file costs what the file says.
    </p>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'model', label: 'Model', required: true, value: form?.sent('model') ?? model, hint: 'As runs name it', error: errors.of('model') })}
      !${input({ name: 'input_usd', label: 'Per million input (USD)', required: true, value: typed('input_usd'), error: errors.of('input_usd') })}
      !${input({ name: 'output_usd', label: 'Per million output (USD)', required: true, value: typed('output_usd'), error: errors.of('output_usd') })}
      !${input({ name: 'cached_usd', label: 'Per million cached (USD)', value: typed('cached_usd'), hint: 'Empty: same as other input', error: errors.of('cached_usd') })}
    </div>
    <button>Set the price</button>
  </form>`;
  return present ? asShown(fields, form) : fields;
}
