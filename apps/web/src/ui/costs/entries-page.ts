/** Individual cost entries, and the form for costs incurred elsewhere. */
import type { CostEvent } from '@acp/contract';
import type { AgentOutline } from '@acp/core';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { count, money, timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, formError, input } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { entriesPath } from './costs-frame.ts';

interface EntriesView {
  company_id: string;
  entries: readonly CostEvent[];
  next_cursor: string | null;
  agents: readonly AgentOutline[];
  /** Whose spending can be reported. */
  offer: Offer;
  can_write: boolean;
  error: string | null;
  form: FormValues | null;
}

export function entriesBody(view: EntriesView): Html {
  const { company_id, entries, next_cursor, agents } = view;
  const path = entriesPath(company_id);
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  const list =
    entries.length > 0
      ? html`<div class="card">
          !${table('Entries', entryColumns(names), entries)}!${moreLink(path, next_cursor, 'Older entries')}
        </div>`
      : emptyState('Nothing spent yet', html`Each run leaves an entry when it ends.`);
  return html`!${list}!${when(view.can_write, () => reportForm(path, view))}`;
}

function entryColumns(names: ReadonlyMap<string, string>): Column<CostEvent>[] {
  const agent = ({ agent_id: id }: CostEvent): Html => {
    if (id === null) return html`<span class="soft">no agent</span>`;
    const name = names.get(id);
    return name === undefined ? html`a deleted agent` : html`<a href="/agents/${id}">${name}</a>`;
  };
  return [
    { label: 'When', phone: 'plain', cell: ({ occurred_at }) => timeAgo(occurred_at) },
    { label: 'Agent', phone: 'plain', cell: agent },
    {
      label: 'Run',
      phone: 'plain',
      cell: ({ run_id }) =>
        run_id === null
          ? html`<span class="soft">reported</span>`
          : html`<a href="/runs/${run_id}">run<span class="sr-only"> ${run_id.slice(0, 8)}</span></a>`,
    },
    { label: 'Provider', phone: 'plain', cell: ({ provider }) => html`${provider}` },
    { label: 'Model', phone: 'plain', cell: ({ model }) => html`<code>${model}</code>` },
    {
      label: 'Input tokens',
      kind: 'number',
      phone: 'named',
      cell: ({ input_tokens }) => count(input_tokens),
    },
    {
      label: 'Output tokens',
      kind: 'number',
      phone: 'named',
      cell: ({ output_tokens }) => count(output_tokens),
    },
    { label: 'Spent', kind: 'number', phone: 'named', cell: spentPart },
  ];
}

const spentPart = ({ cost_usd, price_estimated }: CostEvent): Html =>
  html`!${when(price_estimated, () => html`<span class="soft small">estimated</span> `)}!${money(cost_usd)}`;

function reportForm(path: string, { offer, error, form }: EntriesView): Html {
  const fields = ['provider', 'model', 'cost_usd', 'input_tokens', 'output_tokens', 'agent_id'];
  const errors = new FieldErrors(error, fields);
  const typed = (name: string): string => form?.text(name) ?? '';
  return html`<form class="card" method="post" action="${path}">
    <h2>Report spending elsewhere</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'provider', label: 'Provider', required: true, value: typed('provider'), error: errors.of('provider') })}
      !${input({ name: 'model', label: 'Model', required: true, value: typed('model'), error: errors.of('model') })}
      !${input({ name: 'cost_usd', label: 'Spent (USD)', required: true, value: typed('cost_usd'), error: errors.of('cost_usd') })}
    </div>
    <div class="row">
      !${choice({ name: 'agent_id', label: 'Agent', value: typed('agent_id'), offer, fixed: [{ value: '', label: t`no agent` }], hint: 'Counts towards its budgets', error: errors.of('agent_id') })}
      !${input({ name: 'input_tokens', label: 'Input tokens', type: 'number', min: 0, value: typed('input_tokens'), error: errors.of('input_tokens') })}
      !${input({ name: 'output_tokens', label: 'Output tokens', type: 'number', min: 0, value: typed('output_tokens'), error: errors.of('output_tokens') })}
    </div>
    <button>Report</button>
  </form>`;
}
