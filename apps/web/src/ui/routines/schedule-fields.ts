/** The fields of a schedule, for every form that has them. */
import type { FieldErrors } from '../kit/field-errors.ts';
import { each, html, type Html } from '../kit/html.ts';
import { texts } from '../kit/language.ts';
import { input } from '../kit/parts.ts';
import { ZONES } from '../kit/zone-list.ts';
import { SAID_PATH } from './schedule-words.ts';

const usual: readonly [label: string, expression: string][] = texts([
  ['Every hour', '0 * * * *'],
  ['Every day', '0 9 * * *'],
  ['Weekdays', '0 9 * * 1-5'],
  ['Mondays', '0 9 * * 1'],
  ['Once a month', '0 9 1 * *'],
]);

interface ScheduleFields {
  /** Distinguishes the fields of several forms on a page. */
  form: string;
  cron_expression: string;
  timezone: string;
  errors: FieldErrors;
  /** Whether the page contains the `zoneList`. */
  listed?: boolean;
}

export function scheduleFields({
  form,
  cron_expression,
  timezone,
  errors,
  listed = true,
}: ScheduleFields): Html {
  const cron = input({
    name: 'cron_expression',
    id: `cron_expression-${form}`,
    label: 'Cron expression',
    value: cron_expression,
    required: true,
    hint: 'Minute, hour, day of the month, month, weekday: 0 9 * * 1 is Mondays at nine',
    error: errors.of('cron_expression'),
  });
  const zone = input({
    name: 'timezone',
    id: `timezone-${form}`,
    label: 'Time zone',
    value: timezone,
    required: true,
    ...(listed ? { list: ZONES } : {}),
    hint: 'UTC, or for example Europe/Berlin',
    error: errors.of('timezone'),
  });
  return html`<div class="schedule" data-schedule="${SAID_PATH}">
    <div class="row">!${cron}!${zone}</div>
    <p class="usual" data-script-only>
      !${each(usual, ([label, expression]) => html`<button type="button" class="quiet small" data-cron="${expression}">${label}</button>`)}
    </p>
    <div class="said" data-said aria-live="polite"></div>
  </div>`;
}
