/** The last two weeks of a company: runs, failures, finished issues and costs. */
import type { DayFigures } from '@acp/contract';
import { columnChart } from '../costs/figures.ts';
import { count, money, shortDay, usd } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { type Column, table } from '../kit/table.ts';

interface Chart {
  title: string;
  value: (day: DayFigures) => number;
  bad?: (day: DayFigures) => number;
  label: (day: DayFigures) => string;
  total: (days: readonly DayFigures[]) => string;
}

const sum = (days: readonly DayFigures[], of: (day: DayFigures) => number): number =>
  days.reduce((all, day) => all + of(day), 0);

const charts: readonly Chart[] = texts([
  {
    title: 'Runs',
    value: ({ runs }) => runs,
    bad: ({ failed }) => failed,
    label: ({ runs, failed }) => t`Runs: ${runs}, failed: ${failed}`,
    total: (days) =>
      t`${count(sum(days, ({ runs }) => runs))} in 14 days, ${count(sum(days, ({ failed }) => failed))} failed`,
  },
  {
    title: 'Issues done',
    value: ({ issues_done }) => issues_done,
    label: ({ issues_done }) => t`${issues_done} done`,
    total: (days) => t`${count(sum(days, ({ issues_done }) => issues_done))} in 14 days`,
  },
  {
    title: 'Spending',
    value: ({ cost_usd }) => cost_usd,
    label: ({ cost_usd }) => usd(cost_usd),
    total: (days) => t`${usd(sum(days, ({ cost_usd }) => cost_usd))} in 14 days`,
  },
]);

const columns: Column<DayFigures>[] = [
  { label: 'Day', cell: ({ day }) => html`${shortDay(day)}` },
  { label: 'Runs', kind: 'number', cell: ({ runs }) => count(runs) },
  { label: 'Failed', kind: 'number', cell: ({ failed }) => count(failed) },
  { label: 'Issues done', kind: 'number', cell: ({ issues_done }) => count(issues_done) },
  { label: 'Spent', kind: 'number', cell: ({ cost_usd }) => money(cost_usd) },
];

/** Empty until something has run: the first steps are shown instead. */
export function chartsPart(days: readonly DayFigures[]): Html {
  if (days.every(({ runs, cost_usd }) => runs === 0 && cost_usd === 0)) return '';
  const chart = ({ title, value, bad, label, total }: Chart): Html => {
    const bars = days.map((day, at) => ({
      title: `${shortDay(day.day)}: ${label(day)}`,
      value: value(day),
      ...(bad && { bad: bad(day) }),
      current: at === days.length - 1,
    }));
    return html`<figure class="chart">
      <h3>${title}</h3>
      <p class="soft small">${total(days)}</p>
      !${columnChart(t`${title} by day: ${total(days)}`, bars)}
      <figcaption class="soft small"><span>${shortDay(days[0]!.day)}</span><span>today</span></figcaption>
    </figure>`;
  };
  return html`<section class="card">
    <h2>The last two weeks</h2>
    <div class="charts">!${each(charts, chart)}</div>
    <details data-fold="days">
      <summary>The days as a table</summary>
      !${table('The last two weeks by day', columns, days)}
    </details>
  </section>`;
}
