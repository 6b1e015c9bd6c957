import type { PluginEvent, PluginJob, PluginJobRun, PluginWebhook } from '@acp/contract';
import { listPluginEvents, manifestOf, pluginJobs, webhooksOf } from '@acp/core';
import { duration, timeAgo, timeTo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, status } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';
import { page, type UiRoute } from '../kit/ui-routes.ts';
import { byPlugin, type PluginContext, pluginPage } from './plugin-frame.ts';

const viewer = { scope: byPlugin, role: 'viewer' } as const;
/** Number of lines shown; the API has the rest. */
const LINES = 200;
const CELL = 2000;

const logColumns: Column<PluginEvent>[] = [
  { label: 'When', cell: ({ created_at }) => timeAgo(created_at) },
  {
    label: 'Kind',
    cell: ({ type, level }) => html`${words(type)} !${when(level !== 'info', () => status(level))}`,
  },
  {
    label: 'What',
    cell: ({ message, from_state, to_state }) =>
      html`!${when(to_state, (to) => html`${when(from_state, (from) => `${words(from)} → `)}!${status(to)} `)}<span
          class="wrapped"
          >${message.slice(0, CELL)}</span
        >`,
  },
];

async function logPart({ tx, subject }: PluginContext): Promise<Html> {
  const events = await listPluginEvents(tx, subject, { limit: LINES });
  // No event reports its own lines, which may be many: while it runs, the page looks for the next ones.
  const runs = subject.state === 'running' || subject.state === 'ready';
  const awaits = runs ? (events[0]?.id ?? 'the first') : null;
  const lines =
    events.length === 0
      ? emptyState('Nothing yet', html`Its actions and their outcomes are listed here.`)
      : html`<section class="card">!${table('Events log', logColumns, events)}</section>`;
  return html`<div!${attributes({ 'data-awaits': awaits })}>!${lines}</div>`;
}

async function logPage(context: PluginContext): Promise<Html> {
  const { id } = context.subject;
  return pluginPage(
    context,
    '/log',
    html`<div data-live="plugin:${id}" data-source="/plugins/${id}/part/log">
      !${await logPart(context)}
    </div>`,
  );
}

const runColumns: Column<PluginJobRun>[] = [
  { label: 'Due', cell: ({ scheduled_at }) => timeAgo(scheduled_at) },
  { label: 'State', cell: (run) => status(run.status) },
  { label: 'Took', cell: ({ started_at, finished_at }) => html`${duration(started_at, finished_at)}` },
  {
    label: 'What came of it',
    cell: ({ error, result }) =>
      html`<span class="small"
        >${(error ?? (result === null ? '' : JSON.stringify(result))).slice(0, CELL)}</span
      >`,
  },
];

const jobCard = ({ name, schedule, next_run_at, runs }: PluginJob): Html =>
  html`<section class="card">
    <h2>${name}</h2>
    <p>
      <code>${schedule}</code> UTC
      <span class="soft">!${when(next_run_at, (at) => html`next !${timeTo(at)}`)}</span>
    </p>
    !${runs.length > 0 ? table(t`Runs of ${name}`, runColumns, runs) : html`<p class="soft">It has not run yet.</p>`}
  </section>`;

const webhookColumns: Column<PluginWebhook>[] = [
  { label: 'Path', cell: ({ path }) => html`<code>${path}</code>` },
  { label: 'Address', cell: ({ url_path }) => html`<code>POST ${url_path}</code>` },
];

/** Jobs, events and webhooks: everything sent to the plugin without an explicit call. */
async function workPart({ tx, subject }: PluginContext): Promise<Html> {
  const jobs = await pluginJobs(tx, subject);
  const { events } = manifestOf(subject);
  const webhooks = webhooksOf(subject);
  if (jobs.length + events.length + webhooks.length === 0)
    return emptyState(
      'Nothing is sent to it',
      html`Events, jobs and webhooks are known only while the plugin is running.`,
    );
  return html`!${when(
    events.length > 0,
    () =>
      html`<section class="card">
        <h2>Events</h2>
        <p>
          It receives
          !${each(events, (pattern, index) => html`!${index > 0 ? ', ' : ''}<code>${pattern}</code>`)}, at
          least once and in order.
        </p>
      </section>`,
  )}
  !${when(
    webhooks.length > 0,
    () =>
      html`<section class="card">
        <h2>Webhooks</h2>
        <p class="soft">They require a member’s bearer key.</p>
        !${table('Webhooks', webhookColumns, webhooks)}
      </section>`,
  )}
  !${each(jobs, jobCard)}`;
}

async function workPage(context: PluginContext): Promise<Html> {
  const { id } = context.subject;
  return pluginPage(
    context,
    '/work',
    html`<div class="stack" data-live="plugin:${id}" data-source="/plugins/${id}/part/work">
      !${await workPart(context)}
    </div>`,
  );
}

export const pluginLogRoutes: UiRoute[] = [
  page('/plugins/{pluginId}/log', viewer, logPage),
  page('/plugins/{pluginId}/part/log', viewer, logPart),
  page('/plugins/{pluginId}/work', viewer, workPage),
  page('/plugins/{pluginId}/part/work', viewer, workPart),
];
