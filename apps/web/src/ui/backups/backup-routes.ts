/** The instance's backups: the list, the progress of a running one, and why others failed. */
import type { Backup } from '@acp/contract';
import { getSetting, lastSuccessfulBackup, listBackups } from '@acp/core';
import { count, duration, fileSize, timeAgo, words } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, table } from '../kit/table.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const PATH = '/admin/backups';

async function backupsPage({ tx, user, services }: UiContext<'none'>): Promise<Html> {
  const [backups, last, schedule] = await Promise.all([
    listBackups(tx),
    lastSuccessfulBackup(tx),
    getSetting(tx, 'backup_schedule'),
  ]);
  const body = html`<div class="card">
      !${when(last, ({ started_at }) => html`<p>The last restorable backup began !${timeAgo(started_at)}.</p>`)}
      <p class="soft">
        They are made on a cron schedule, in UTC:
        !${schedule === undefined ? html`<code>${services.defaults.backup_schedule ?? ''}</code>, the one of <code>SERVICE_BACKUP_SCHEDULE</code>` : html`<code>${schedule}</code>`}
        (<a href="/admin/settings">settings</a>). <code>ctl db backup</code> makes another one,
        <code>ctl db restore</code> restores one into an empty database.
      </p>
    </div>
    !${
      backups.length === 0
        ? emptyState(
            'No backups yet',
            html`The first one is made within a minute of an instance’s first start.`,
          )
        : html`<div class="card">!${table('Backups', columns, backups)}</div>`
    }`;
  return shell({ title: t`Backups`, user, company: null, active: PATH, body });
}

const size = (bytes: number): Html => html`<span title="${count(bytes)} B">${fileSize(bytes)}</span>`;

const columns: Column<Backup>[] = [
  { label: 'Started', cell: ({ started_at }) => timeAgo(started_at) },
  {
    label: 'State',
    cell: ({ status: state, phase, error }) =>
      html`!${status(state)}!${when(phase, (now) => html` <span class="soft">${words(now)}</span>`)}!${when(error, (text) => html`<p class="error wraps">${text}</p>`)}`,
  },
  { label: 'Took', cell: ({ started_at, finished_at }) => html`${duration(started_at, finished_at)}` },
  { label: 'Size', kind: 'number', cell: ({ bytes }) => size(bytes) },
  { label: 'Made by', cell: ({ trigger }) => html`${trigger === 'schedule' ? t`schedule` : t`hand`}` },
  { label: 'File', cell: ({ file }) => html`<span class="small wraps">${file ?? ''}</span>` },
];

export const backupRoutes: UiRoute[] = [
  page(PATH, { scope: { by: 'none' }, role: 'instance_admin' }, backupsPage),
];
