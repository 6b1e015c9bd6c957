/** The instance's health: first in words, what is wrong and what to do, then the figures behind it. */
import type { Alert } from '@acp/contract';
import {
  countPluginWalls,
  type InstanceFigures,
  listAlerts,
  listSchedulers,
  readFigures,
  readTicks,
  type SchedulerProcess,
} from '@acp/core';
import { type QueueCounts, readQueues } from '@acp/queue';
import { messagePart, withCode } from '../alerts/alert-pages.ts';
import { count, span, timeAgo } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { postButton, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, table } from '../kit/table.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { boundTable } from '../plugins/state-parts.ts';

/** Number of alerts shown; the others are a link away. */
const SHOWN = 5;

async function healthPage({ tx, user }: UiContext<'none'>): Promise<Html> {
  const figures = await readFigures(tx);
  const alerts = (await listAlerts(tx, null, { status: 'firing', limit: SHOWN })).items;
  const walls = await countPluginWalls(tx);
  const body = html`!${verdict(figures, alerts)}!${figuresCard(figures)}
    !${schedulersCard(await listSchedulers(tx))}!${queuesCard(await readQueues(tx))}
    !${workersCard(await readTicks(tx))}!${when(walls.length > 0, () => pluginWalls(walls))}
    <section class="card">
      <h2>Instance model providers</h2>
      <p>
        Configured by the environment and tested by a scheduler: it lists the models, or asks for one token.
      </p>
      !${postButton('/admin/operations/providers/test', 'Test all', { class: 'quiet' })}
    </section>
    <p class="soft small">
      For machines: <a href="/readyz">/readyz</a>, <a href="/metrics">/metrics</a>.
      <code>ctl doctor</code> checks the configuration too.
    </p>`;
  return shell({ title: t`Health`, user, company: null, active: '/admin/health', body });
}

function verdict(figures: InstanceFigures, alerts: readonly Alert[]): Html {
  const { schedulers, alerts_error, alerts_warning, alerts_budget } = figures;
  const open = alerts_error + alerts_warning;
  const broken = alerts_error > alerts_budget;
  if (schedulers > 0 && open === 0)
    return html`<section class="card verdict" data-state="good">
      <h2>All is well</h2>
      <p>Schedulers are running, and nothing needs attention.</p>
    </section>`;
  const said =
    schedulers === 0
      ? t`Nothing is running`
      : broken
        ? t`Something is broken`
        : t`Working, but something needs attention`;
  return html`<section class="card verdict" data-state="${schedulers === 0 || broken ? 'bad' : 'warn'}">
    <h2>${said}</h2>
    !${when(
      schedulers === 0,
      () =>
        html`<p>
          No scheduler is running: runs, schedules, mail and plugins wait until one starts. Start one with
          <code>SERVICE_ROLE=scheduler</code> on this database.
        </p>`,
    )}
    !${when(
      alerts.length > 0,
      () =>
        html`<ul>
          !${each(alerts, finding)}
        </ul>`,
    )}
    !${when(open > 0, () => html`<p><a href="/admin/alerts">${open === 1 ? t`The alert` : t`All ${open} alerts`}</a></p>`)}
  </section>`;
}

const finding = (alert: Alert): Html => {
  const { level, mend, opened_at } = alert;
  return html`<li>
    <p>!${status(level)} !${messagePart(alert)} <span class="soft small">!${timeAgo(opened_at)}</span></p>
    <p class="soft small">!${withCode(say(mend))}</p>
  </li>`;
};

function figuresCard(figures: InstanceFigures): Html {
  const { runs_queued, oldest_queued_run_sec } = figures;
  const oldest = span(oldest_queued_run_sec);
  const shown: [label: string, value: number, beside?: string][] = [
    [t`Schedulers`, figures.schedulers],
    [t`Active runs`, figures.runs_running],
    [t`Queued runs`, runs_queued, runs_queued > 0 && oldest !== '' ? t`the oldest for ${oldest}` : ''],
    [t`Workers online`, figures.workers_online],
    [t`Queued tasks`, figures.tasks_queued],
    [t`Queued messages`, figures.messages_pending + figures.webhook_deliveries_pending],
  ];
  return html`<section class="card" aria-label="Figures">
    <dl class="figures">
      !${each(
        shown,
        ([label, value, beside = '']) =>
          html`<div>
            <dt>${label}</dt>
            <dd>${count(value)}</dd>
            !${when(beside, (text) => html`<dd class="soft small">${text}</dd>`)}
          </div>`,
      )}
    </dl>
  </section>`;
}

const schedulerColumns: Column<SchedulerProcess>[] = [
  { label: 'Scheduler', cell: ({ scheduler }) => html`<code>${scheduler}</code>` },
  { label: 'State', cell: ({ reports }) => status(reports ? 'running' : 'silent') },
  { label: 'Started', cell: ({ started_at }) => timeAgo(started_at) },
  { label: 'Last heard from', cell: ({ updated_at }) => timeAgo(updated_at) },
  {
    label: 'Disk used',
    kind: 'number',
    cell: ({ disk_used_pct }) =>
      html`${disk_used_pct === null ? t`unknown` : `${Math.round(disk_used_pct)} %`}`,
  },
];

const schedulersCard = (schedulers: readonly SchedulerProcess[]): Html =>
  when(
    schedulers.length > 0,
    () =>
      html`<section class="card">
        <h2>Schedulers</h2>
        !${table('Schedulers', schedulerColumns, schedulers)}
      </section>`,
  );

const queueColumns: Column<QueueCounts>[] = [
  { label: 'Queue', cell: ({ name }) => html`<code>${name}</code>` },
  { label: 'Waiting', kind: 'number', cell: ({ ready }) => html`${count(ready)}` },
  { label: 'Active', kind: 'number', cell: ({ active }) => html`${count(active)}` },
  { label: 'Failed permanently', kind: 'number', cell: ({ failed }) => html`${count(failed)}` },
];

/** Shows the queues that are not empty. */
function queuesCard(queues: readonly QueueCounts[]): Html {
  const filled = queues.filter(({ ready, active, failed }) => ready + active + failed > 0);
  return html`<section class="card">
    <h2>Queues</h2>
    !${
      filled.length === 0
        ? html`<p class="soft">All ${queues.length} queues are empty, as of the last minute.</p>`
        : table('Queues', queueColumns, filled)
    }
  </section>`;
}

type Worker = Awaited<ReturnType<typeof readTicks>>[number];

const workerColumns: Column<Worker>[] = [
  { label: 'Worker', cell: ({ worker }) => html`${worker}` },
  { label: 'Ticks', kind: 'number', cell: ({ ticks }) => html`${ticks}` },
  { label: 'Errors', kind: 'number', cell: ({ errors }) => html`${errors}` },
  { label: 'Schedulers', kind: 'number', cell: ({ schedulers }) => html`${schedulers}` },
];

const workersCard = (workers: readonly Worker[]): Html =>
  when(
    workers.length > 0,
    () =>
      html`<details class="card">
        <summary>Background work in the last minute</summary>
        !${table('Background work', workerColumns, workers)}
      </details>`,
  );

/** The sandboxes that running plugins are confined in. */
function pluginWalls(counts: Awaited<ReturnType<typeof countPluginWalls>>): Html {
  return html`<section class="card">
    <h2>Sandboxes of running plugins</h2>
    !${each(
      counts,
      ({ sandbox, bounds, plugins }) =>
        html`<h3>${plugins} in ${sandbox ?? t`an unknown sandbox`}</h3>
          !${when(sandbox === 'bare', () => html`<p>!${status('warn')} no sandbox: plain processes of the scheduler</p>`)}
          !${when(bounds, boundTable)}`,
    )}
  </section>`;
}

export const healthRoutes: UiRoute[] = [
  page('/admin/health', { scope: { by: 'none' }, role: 'instance_admin' }, healthPage),
];
