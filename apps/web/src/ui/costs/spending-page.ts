/** A month's spending: total, by day, and by agent, model and the like. */
import type { CostSummary } from '@acp/contract';
import { count, money, shortDay, usd } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState } from '../kit/parts.ts';
import { allLink, type Column, firstRows, table } from '../kit/table.ts';
import { costsPath, setPricePath } from './costs-frame.ts';
import { columnChart, shareBar } from './figures.ts';
import type { Month } from './month.ts';

type Group = CostSummary['groups'][number];

export interface SpendingView {
  company_id: string;
  is_admin: boolean;
  month: Month;
  /** `2026-11-21`, in UTC. */
  today: string;
  by_day: CostSummary;
  by_agent: CostSummary;
  by_project: CostSummary;
  by_model: CostSummary;
  query: Readonly<Record<string, string>>;
  /** Agents and projects that still have a page. */
  present: ReadonlySet<string>;
}

export function spendingBody(view: SpendingView): Html {
  const { month, by_day, by_agent, by_project, by_model, present } = view;
  if (by_day.groups.length === 0)
    return emptyState(
      t`Nothing was spent in ${month.name}`,
      html`The cost of runs and reported spending are summed up here.`,
    );
  const named =
    (path: string, nobody: string) =>
    ({ key, label }: Group): Html => {
      if (key === null) return html`<span class="soft">${nobody}</span>`;
      const name = label ?? t`permanently deleted`;
      return present.has(key) ? html`<a href="${path}/${key}">${name}</a>` : html`${name}`;
    };
  return html`!${totals(view)}!${dayPart(view)}
  !${groupPart(view, t`By agent`, t`Agent`, by_agent, named('/agents', t`no agent`))}
  !${groupPart(view, t`By project`, t`Project`, by_project, named('/projects', t`no project`))}
  !${groupPart(view, t`By model`, t`Model`, by_model, modelName(view))}`;
}

/** The model's name; if it has no price, links admins to the form that sets one. */
function modelName({ company_id, is_admin }: SpendingView) {
  return ({ label, estimated_usd }: Group): Html => {
    const name = html`<code>${label ?? ''}</code>`;
    if (estimated_usd === 0) return name;
    const note = is_admin
      ? html`<a href="${setPricePath(company_id, label ?? '')}">price unknown, estimated</a>`
      : html`price unknown, estimated`;
    return html`!${name} <span class="soft small">!${note}</span>`;
  };
}

const sumOf = ({ groups }: CostSummary, field: 'input_tokens' | 'output_tokens' | 'runs'): number =>
  groups.reduce((sum, group) => sum + group[field], 0);

function totals({ month, today, by_day, by_agent }: SpendingView): Html {
  const spent = by_day.groups.find(({ key }) => key === today)?.cost_usd ?? 0;
  return html`<dl class="figures card">
    <div>
      <dt>${month.name}</dt>
      <dd>!${money(by_day.total_usd)}</dd>
    </div>
    !${when(
      today < month.to,
      () =>
        html`<div>
          <dt>Today</dt>
          <dd>!${money(spent)}</dd>
        </div>`,
    )}
    <div>
      <dt>Runs</dt>
      <dd>${count(sumOf(by_agent, 'runs'))}</dd>
    </div>
    <div>
      <dt>Input tokens</dt>
      <dd>${count(sumOf(by_day, 'input_tokens'))}</dd>
    </div>
    <div>
      <dt>Output tokens</dt>
      <dd>${count(sumOf(by_day, 'output_tokens'))}</dd>
    </div>
  </dl>`;
}

/** The chart, its axis in words, and the same data as a table. */
function dayPart({ month, today, by_day }: SpendingView): Html {
  const spent = new Map(by_day.groups.map(({ key, cost_usd }) => [key, cost_usd]));
  const bars = month.days.map((day) => {
    const value = spent.get(day) ?? 0;
    return { title: `${shortDay(day)}: ${usd(value)}`, value, current: day === today };
  });
  const [most] = by_day.groups.toSorted((a, b) => b.cost_usd - a.cost_usd);
  const label = t`Spending by day in ${month.name}; the most on ${most?.key ? shortDay(most.key) : '–'}: ${usd(most?.cost_usd ?? 0)}`;
  return html`<section class="card">
    <h2>By day</h2>
    <figure class="chart">
      <p class="soft small">up to !${money(most?.cost_usd ?? 0)} a day</p>
      !${columnChart(label, bars)}
      <figcaption class="soft small">
        <span>${shortDay(month.days[0]!)}</span><span>${shortDay(month.days.at(-1)!)}</span>
      </figcaption>
    </figure>
    <details>
      <summary>The days as a table</summary>
      !${table('Spending by day', dayColumns, by_day.groups, { narrow: true })}
    </details>
  </section>`;
}

const spentColumn: Column<Group> = {
  label: 'Spent',
  kind: 'number',
  cell: ({ cost_usd }) => money(cost_usd),
};
const runsColumn: Column<Group> = { label: 'Runs', kind: 'number', cell: ({ runs }) => count(runs) };

const dayColumns: Column<Group>[] = [
  { label: 'Day', cell: ({ key }) => html`${key === null ? '' : shortDay(key)}` },
  spentColumn,
  runsColumn,
];

function groupPart(
  { company_id, query }: SpendingView,
  heading: string,
  what: string,
  { total_usd, groups }: CostSummary,
  name: (group: Group) => Html,
): Html {
  const columns: Column<Group>[] = [
    { label: what, cell: name },
    { label: 'Share', cell: ({ cost_usd }) => shareBar(cost_usd, total_usd) },
    spentColumn,
    runsColumn,
    { label: 'Input tokens', kind: 'number', cell: ({ input_tokens }) => count(input_tokens) },
    { label: 'Output tokens', kind: 'number', cell: ({ output_tokens }) => count(output_tokens) },
  ];
  return html`<section class="card">
    <h2>${heading}</h2>
    !${table(heading, columns, firstRows(groups, query))}!${allLink(costsPath(company_id), query, groups)}
  </section>`;
}
