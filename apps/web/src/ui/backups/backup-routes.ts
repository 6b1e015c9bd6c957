/** The instance's backups: the list, the progress of a running one, and why others failed. */
import { type Backup, backupEndpoints as rows } from '@acp/contract';
import { getSetting, lastSuccessfulBackup, listBackups } from '@acp/core';
import { count, duration, fileSize, timeAgo, words } from '../kit/format.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { emptyState, formError, postButton, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const PATH = '/admin/backups';
/** The schedule that never comes. */
const OFF = 'off';
const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;

/** The schedule that counts, and whether the instance has set its own. */
async function scheduleOf({
  tx,
  services,
}: UiContext<'none'>): Promise<{ schedule: string; is_own: boolean }> {
  const own = await getSetting(tx, 'backup_schedule');
  return { schedule: own ?? services.defaults.backup_schedule ?? OFF, is_own: own !== undefined };
}

async function backupsPage(context: UiContext<'none'>, error: string | null = null): Promise<Html> {
  const { schedule, is_own } = await scheduleOf(context);
  const said = is_own
    ? html`<code>${schedule}</code>`
    : html`<code>${schedule}</code>, the one of <code>SERVICE_BACKUP_SCHEDULE</code>`;
  const settings = html`(<a href="/admin/settings">settings</a>). <code>ctl db restore</code> restores one
    into an empty database.`;
  const body = html`!${formError(error)}
    <div class="card">
      <p class="soft">
        !${schedule === OFF ? html`None are made by themselves, since their schedule is !${said}` : html`They are made on a cron schedule, in UTC: !${said}`}
        !${settings}
      </p>
    </div>
    <div class="apart" data-source="${PATH}/part/list">!${await listPart(context)}</div>`;
  return shell({ title: t`Backups`, user: context.user, company: null, active: PATH, body });
}

const isUnderWay = ({ status: state }: Backup): boolean => state === 'queued' || state === 'running';

/** All that changes with a backup. Without the button while one is under way: another would be refused. */
async function listPart(context: UiContext<'none'>): Promise<Html> {
  const { tx } = context;
  const [backups, last] = await Promise.all([listBackups(tx), lastSuccessfulBackup(tx)]);
  if (backups.length === 0) {
    const { schedule } = await scheduleOf(context);
    const hint =
      schedule === OFF
        ? html`The first one is made once somebody asks for it.`
        : html`The first one is made within a minute of an instance’s first start.`;
    return html`!${emptyState('No backups yet', hint)}!${requestButton()}`;
  }
  return html`<div class="card">
    !${when(last, ({ started_at }) => html`<p>The last restorable backup began !${timeAgo(started_at)}.</p>`)}
    !${when(
      backups.some(({ status: state }) => state === 'queued'),
      () => html`<p class="soft" role="status">A scheduler will begin the next within half a minute.</p>`,
    )}
    !${backups.some(isUnderWay) ? '' : requestButton()}!${table('Backups', columns, backups)}
  </div>`;
}

const requestButton = (): Html => postButton(PATH, 'Back up now', { class: 'quiet' });

/** None before the first byte: the backup waits, or has failed before. */
const size = (bytes: number): Html =>
  bytes === 0 ? html`–` : html`<span title="${count(bytes)} B">${fileSize(bytes)}</span>`;

const columns: Column<Backup>[] = [
  { label: 'Started', cell: ({ started_at }) => timeAgo(started_at) },
  {
    label: 'State',
    cell: (backup) => {
      const { status: state, phase, error } = backup;
      return html`<span!${attributes({ 'data-awaits': isUnderWay(backup) })}>!${status(state)}</span>!${when(phase, (now) => html` <span class="soft">${words(now)}</span>`)}!${when(error, (text) => html`<p class="error wraps">${say(text)}</p>`)}`;
    },
  },
  {
    label: 'Took',
    cell: ({ status: state, started_at, finished_at }) =>
      state === 'queued' ? html`` : html`${duration(started_at, finished_at)}`,
  },
  { label: 'Size', kind: 'number', cell: ({ bytes }) => size(bytes) },
  { label: 'Made by', cell: ({ trigger }) => html`${trigger === 'schedule' ? t`schedule` : t`hand`}` },
  { label: 'File', cell: ({ file }) => html`<span class="small wraps">${file ?? ''}</span>` },
];

export const backupRoutes: UiRoute[] = [
  page(PATH, instance, async (c) => backupsPage(c)),
  page(`${PATH}/part/list`, instance, (c) => listPart(c)),
  action(PATH, rows.request, { next: () => PATH, failed: backupsPage }),
];
