import { adapterTypes, type Flag, type InstanceSettings, settingsEndpoints as rows } from '@acp/contract';
import {
  EVENTS_KEPT_DAYS,
  listFlags,
  readSettings,
  SECURITY_EVENTS_KEPT_DAYS,
  TRASH_KEPT_DAYS,
} from '@acp/core';
import type { Services } from '../../http/services.ts';
import { boundsPart, readBounds } from './bounds-part.ts';
import { adapterChoices, adapterName } from '../kit/adapter-names.ts';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { checkbox, type Choice, formError, input, notice, postButton, select, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;
const PATH = '/admin/settings';

const textFields = ['instance_name', 'backup_schedule', 'default_adapter_type'] as const;
const numbers = [
  { name: 'company_max_concurrent_runs', label: 'Concurrent runs per company' },
  { name: 'run_retention_days', label: 'Days to keep runs' },
  { name: 'event_retention_days', label: 'Days to keep events' },
  { name: 'activity_retention_days', label: 'Days to keep activity' },
  { name: 'cost_event_retention_days', label: 'Days to keep costs' },
  { name: 'trash_retention_days', label: 'Days to keep the trash' },
  { name: 'security_event_retention_days', label: 'Days to keep security events' },
  { name: 'session_idle_minutes', label: 'Idle minutes until sign-out' },
] as const;

/** What applies while a field is empty, and where that comes from unless it is built in. */
function whileEmpty({ defaults }: Services): Record<(typeof numbers)[number]['name'], string> {
  const days = defaults.run_retention_days;
  const given = (text: string, variable: string): string => `${text} (${variable})`;
  return {
    company_max_concurrent_runs: t`Empty: no limit`,
    run_retention_days: days === null ? '' : given(t`Empty: ${days}`, 'SERVICE_RUN_RETENTION_DAYS'),
    event_retention_days: t`Empty: ${EVENTS_KEPT_DAYS}`,
    activity_retention_days: t`Empty: forever`,
    cost_event_retention_days: t`Empty: forever`,
    trash_retention_days: t`Empty: ${TRASH_KEPT_DAYS}`,
    security_event_retention_days: t`Empty: ${SECURITY_EVENTS_KEPT_DAYS}`,
    session_idle_minutes: t`Empty: never`,
  };
}

const commonPasswords = (): Choice[] => [
  { value: '', label: t`on pages` },
  { value: 'true', label: t`on pages and through the API` },
  { value: 'false', label: t`nowhere` },
];

const done: Record<string, string> = texts({
  saved: 'Saved.',
  paused: 'No more runs will start.',
  on: 'Runs start again.',
});

async function settingsPage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, query, services } = context;
  const settings = await readSettings(tx);
  const isOther = form?.has('bounds') === true;
  const body = html`!${notice(done[query.done ?? ''])}!${runsPart(settings)}
    !${await settingsForm(services, settings, isOther ? null : error, isOther ? null : form)}
    !${await boundsPart(PATH, settings.bounds, error, form)}
    <section class="card">
      <h2>Flags</h2>
      !${table('Flags', flagColumns, await listFlags(tx))}
    </section>`;
  return shell({ title: t`Instance settings`, user, company: null, active: PATH, body });
}

function runsPart({ runs_paused: paused }: InstanceSettings): Html {
  return html`<section class="card">
    <h2>Emergency stop</h2>
    <p>
      ${paused ? t`No runs start. Waiting work continues when you allow it.` : t`Runs start normally. Stopping lets current runs finish and starts no more.`}
    </p>
    !${
      paused
        ? postButton(PATH, 'Let runs start', { class: '', fields: { runs_paused: '' } })
        : postButton(PATH, 'Stop all runs', {
            class: 'danger',
            fields: { runs_paused: 'on' },
            confirm: 'Stop starting runs for all companies?',
          })
    }
  </section>`;
}

async function settingsForm(
  services: Services,
  settings: InstanceSettings,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const errors = new FieldErrors(error, [...textFields, ...numbers.map(({ name }) => name)], {
    schedule: 'backup_schedule',
  });
  const text = (name: Exclude<keyof InstanceSettings, 'bounds'>): string =>
    form?.sent(name) ?? String(settings[name] ?? '');
  const empty = whileEmpty(services);
  const schedule = services.defaults.backup_schedule;
  const cron = t`Cron, five fields, in UTC: 0 3 * * *`;
  const schedule_hint =
    schedule === null ? cron : t`Cron, in UTC; empty: ${schedule} (SERVICE_BACKUP_SCHEDULE)`;
  const adapters = [
    { value: '', label: t`by default: ${adapterName('llm')}` },
    ...adapterChoices(adapterTypes),
  ];
  const fields = html`<form class="card" method="post" action="${PATH}">
    <h2>Settings</h2>
    <p class="soft">Below a field is what applies while it is empty. Instance admins create companies.</p>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'instance_name', label: 'Name of this instance', value: text('instance_name'), hint: t`Empty: ${new URL(services.public_url).host}`, error: errors.of('instance_name') })}
      !${select({ name: 'default_adapter_type', label: 'Adapter of new companies', value: text('default_adapter_type'), choices: adapters, error: errors.of('default_adapter_type') })}
      !${input({ name: 'backup_schedule', label: 'Backup schedule', value: text('backup_schedule'), hint: schedule_hint, error: errors.of('backup_schedule') })}
    </div>
    <div class="row">
      !${numbers.map(({ name, label }) => input({ name, label, type: 'number', min: 1, value: text(name), hint: empty[name], error: errors.of(name) })).join('')}
    </div>
    !${checkbox({ name: 'require_second_factor', label: 'Everyone must have a second factor', checked: form?.ticked('require_second_factor') ?? settings.require_second_factor === true })}
    !${select({ name: 'refuse_common_passwords', label: 'Easily guessed new passwords are refused', value: text('refuse_common_passwords'), choices: commonPasswords() })}
    <button>Save</button>
  </form>`;
  return asShown(fields, form);
}

const flagColumns: Column<Flag>[] = [
  {
    label: 'Flag',
    cell: ({ name, description }) =>
      html`<strong>${words(name)}</strong><br /><span class="soft small">${say(description)}</span>`,
  },
  { label: 'Now', cell: ({ effective_value }) => status(effective_value ? 'on' : 'off') },
  {
    label: 'Set',
    cell: ({ value, updated_at }) =>
      value === null ? html`<span class="soft">by default</span>` : timeAgo(updated_at),
  },
  {
    label: 'Change',
    kind: 'acts',
    cell: ({ name, value, effective_value }) =>
      html`!${postButton(`/admin/flags/${name}`, effective_value ? 'Switch off' : 'Switch on', { class: 'quiet small', fields: { value: String(!effective_value) } })}
      !${when(value !== null, () => postButton(`/admin/flags/${name}/revert`, 'Default', { class: 'quiet small' }))}`,
  },
];

const readTruth = (text: string | null | undefined): boolean | null | undefined =>
  typeof text === 'string' ? text === 'true' : text;

const readForm = (form: FormValues) => ({
  ...Object.fromEntries(textFields.map((name) => [name, form.cleared(name)])),
  ...Object.fromEntries(numbers.map(({ name }) => [name, form.clearedNumber(name)])),
  require_second_factor: form.ticked('require_second_factor'),
  refuse_common_passwords: readTruth(form.cleared('refuse_common_passwords')),
  runs_paused: form.ticked('runs_paused'),
  bounds: readBounds(form),
});

const said = (paused: boolean | null | undefined): string =>
  paused === undefined || paused === null ? 'saved' : paused ? 'paused' : 'on';

export const adminSettingsRoutes: UiRoute[] = [
  page(PATH, instance, (c) => settingsPage(c)),
  action(PATH, rows.update, {
    read: readForm,
    edits: (c) => settingsPage(c),
    next: (_, { runs_paused }, form) =>
      `${PATH}?done=${form.has('runs_paused') ? said(runs_paused) : 'saved'}`,
    failed: settingsPage,
  }),
  action('/admin/flags/{name}', rows.putFlag, {
    read: (form) => ({ value: form.text('value') }),
    next: () => `${PATH}?done=saved`,
    failed: settingsPage,
  }),
  action('/admin/flags/{name}/revert', rows.deleteFlag, {
    next: () => `${PATH}?done=saved`,
    failed: settingsPage,
  }),
];
