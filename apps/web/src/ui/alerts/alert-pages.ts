import type { Alert, OutgoingMessage } from '@acp/contract';
import type { AlertTargets } from '@acp/core';
import { doneBy, type Names } from '../kit/answered-by.ts';
import { exactTime, timeLeft, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { emptyState, formError, notice, postButton, status, tabs } from '../kit/parts.ts';
import { type Column, moreLink, samePage, table } from '../kit/table.ts';

/** Page of the instance's alerts. */
export const PATH = '/admin/alerts';

export interface AlertsView {
  path: string;
  /** Path prefix of the actions. */
  acts: string;
  /** Whether past alerts are shown. */
  past: boolean;
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
  alerts: readonly Alert[];
  next_cursor: string | null;
  names: Names;
}

const done: Record<string, string> = texts({
  acknowledged: 'Acknowledged: no more reminders are sent.',
  muted: 'Muted: nothing is sent about it until then.',
  heard: 'Unmuted.',
  test: 'A test is on its way; the result will appear below.',
});

const MUTE_HOURS = 8;

export function alertsBody(
  view: AlertsView,
  said: { error: string | null; done: string | undefined },
  below: Html,
): Html {
  const passed = `${view.path}?status=resolved`;
  return html`!${formError(said.error)}!${notice(done[said.done ?? ''])}
  !${tabs(
    'Alerts',
    [
      { label: t`Now`, path: view.path },
      { label: t`Resolved`, path: passed },
    ],
    view.past ? passed : view.path,
  )}
  !${view.past ? alertsPart(view) : html`<div data-live="notification" data-source="${samePage(`${view.path}/part/list`, view.query)}">!${alertsPart(view)}</div>`}
  !${below}`;
}

/** The list, which refreshes itself: not every change has an event, and the instance's page hears of none. */
export function alertsPart(view: AlertsView): Html {
  const { past, alerts } = view;
  const mark = past ? null : alerts.map(({ id, acknowledged_at: at }) => `${id} ${at !== null}`).join();
  return html`<div!${attributes({ 'data-awaits': mark })}>!${listOf(view)}</div>`;
}

function listOf({ alerts, past, path, next_cursor, ...view }: AlertsView): Html {
  if (alerts.length === 0)
    return past
      ? emptyState('No resolved alerts', html`Resolved alerts stay here for 90 days.`)
      : emptyState('All is well', html`Anything that needs attention appears here automatically.`);
  const columns = past ? pastColumns : currentColumns(view);
  return html`<div class="card">
    !${table('Alerts', columns, alerts)}!${moreLink(past ? `${path}?status=resolved` : path, next_cursor, 'Older alerts')}
  </div>`;
}

const what: Column<Alert> = {
  label: 'What',
  cell: (alert) =>
    html`<div class="wraps">
      <p>!${messagePart(alert)}</p>
      !${when(alert.status === 'firing', () => html`<p class="soft small">!${withCode(say(alert.mend))}</p>`)}
    </div>`,
};

/** Pages by what an alert is about; a key has none of its own. */
const pages: Record<string, string> = {
  budget_incident: '/budget-incidents',
  provider: '/providers',
  webhook: '/webhooks',
};

/** The alert's text, as a link to what it is about. */
export function messagePart({ message, entity_type, entity_id }: Alert): Html {
  const page = pages[entity_type ?? ''];
  if (page === undefined || entity_id === null) return html`${message}`;
  return html`<a href="${page}/${entity_id}">${message}</a>`;
}

/** Shows text between backticks as code. */
export const withCode = (text: string): Html =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))
    .join('');

const pastColumns: Column<Alert>[] = [
  { label: 'Level', cell: ({ level }) => status(level) },
  what,
  { label: 'Since', cell: ({ opened_at }) => exactTime(opened_at) },
  { label: 'Resolved', cell: ({ resolved_at }) => exactTime(resolved_at) },
];

const currentColumns = ({ acts, names }: Pick<AlertsView, 'acts' | 'names'>): Column<Alert>[] => [
  { label: 'Level', cell: ({ level }) => status(level) },
  what,
  { label: 'Since', cell: ({ opened_at }) => exactTime(opened_at) },
  {
    label: 'Acknowledged',
    cell: ({ acknowledged_at, acknowledged_by_user_id: by }) =>
      acknowledged_at === null
        ? html`<span class="soft">not yet</span>`
        : html`${doneBy(names, by)} !${exactTime(acknowledged_at)}`,
  },
  {
    label: 'Actions',
    kind: 'acts',
    cell: ({ id, acknowledged_at, muted_until }) =>
      html` !${when(acknowledged_at === null, () => postButton(`${acts}/${id}/acknowledge`, 'Acknowledge', { class: 'small' }))}
      !${mute(`${acts}/${id}/mute`, muted_until)}`,
  },
];

function mute(path: string, until: Alert['muted_until']): Html {
  const muted = until !== null && new Date(until) > new Date();
  const [label, hours] = muted ? [t`Unmute`, 0] : [t`Mute for ${MUTE_HOURS} h`, MUTE_HOURS];
  return html`!${postButton(path, label, { class: 'quiet small', fields: { hours: String(hours) } })}
  !${when(muted && until, (end) => html`<span class="soft small">muted, !${timeLeft(end)}</span>`)}`;
}

/** Channels by which alerts leave the instance, and the outcome of recent deliveries. */
export function channelsPart(
  { mail, mail_to, channels }: AlertTargets,
  messages: readonly OutgoingMessage[],
): Html {
  const to = mail_to.length > 0 ? mail_to.join(', ') : t`the instance’s admins`;
  const ways = [
    ...(mail ? [t`mail to ${to}, and to admins of the companies concerned`] : []),
    ...channels.map(words),
  ];
  return html`<section class="card">
    <h2>Who is notified</h2>
    !${
      ways.length === 0
        ? html`<p>
            No one is notified outside these pages: set <code>SERVICE_SMTP_URL</code> for mail, or
            <code>SERVICE_ALERT_SLACK_URL</code>, <code>SERVICE_ALERT_TELEGRAM_TOKEN</code> or
            <code>SERVICE_ALERT_WEBHOOK_URL</code>.
          </p>`
        : html`<ul>
              !${each(ways, (way) => html`<li>${way}</li>`)}
            </ul>
            !${postButton(`${PATH}/test`, 'Send a test', { class: 'quiet' })}`
    }
    <div data-source="${PATH}/part/messages">!${messagesPart(messages)}</div>
  </section>`;
}

/** What became of recent messages, such as a test. */
export const messagesPart = (messages: readonly OutgoingMessage[]): Html =>
  when(
    messages.length > 0,
    () =>
      html`<h3>Sent recently</h3>
        !${table('Messages', messageColumns, messages)}`,
  );

const messageColumns: Column<OutgoingMessage>[] = [
  { label: 'When', cell: ({ created_at }) => exactTime(created_at) },
  {
    label: 'State',
    cell: ({ status: state }) =>
      html`<span!${attributes({ 'data-awaits': state === 'pending' })}>!${status(state)}</span>`,
  },
  {
    label: 'To',
    cell: ({ channel, recipient }) => html`<span class="wraps">${recipient || words(channel)}</span>`,
  },
  {
    label: 'What',
    cell: ({ subject, error }) =>
      html`<span class="wraps">${subject}</span
        >!${when(error, (text) => html`<p class="error small wraps">${text}</p>`)}`,
  },
];
