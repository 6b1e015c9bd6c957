/** Turns an issue into a routine, on the issue's page. */
import type { IssueDetail } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, html, type Html } from '../kit/html.ts';
import { formError, input } from '../kit/parts.ts';
import type { Refused } from './routine-form.ts';
import { scheduleFields } from './schedule-fields.ts';

export interface PromotionView {
  /** The rejected form that turns the issue into a routine. */
  promotion: Refused | null;
  /** The reader's, for a new schedule. */
  time_zone: string;
}

/** The default of `promoteRoutine`. */
const DEFAULT_CRON = '0 9 * * 1';

export function promoteForm(
  { id }: Pick<IssueDetail, 'id'>,
  { promotion: refused, time_zone }: PromotionView,
): Html {
  const errors = new FieldErrors(refused?.error ?? null, ['name', 'cron_expression', 'timezone']);
  const schedule = scheduleFields({
    form: 'promote',
    cron_expression: refused?.form.text('cron_expression') ?? DEFAULT_CRON,
    timezone: refused?.form.text('timezone') ?? time_zone,
    errors,
    listed: false,
  });
  return html`<details class="card" !${attributes({ open: refused !== null })}>
    <summary>Turn this issue into a routine</summary>
    <form method="post" action="/issues/${id}/promote-routine">
      <p class="hint">The schedule creates an issue like this one each time. This one stays as it is.</p>
      !${formError(errors.general)}
      !${input({ name: 'name', id: 'name-promote', label: 'Name of the routine', value: refused?.form.text('name') ?? '', hint: 'Empty: the title of the issue', error: errors.of('name') })}
      !${schedule}
      <button class="quiet">Create a routine</button>
    </form>
  </details>`;
}

export const readPromotion = (form: FormValues) => ({
  name: form.given('name'),
  cron_expression: form.text('cron_expression').trim(),
  timezone: form.text('timezone').trim(),
});
