/** A schedule in words, and when it fires next. */
import { nextFireTimes } from '@acp/core';
import { ServiceError } from '@acp/kernel';
import { createRequire } from 'node:module';
import type * as Cronstrue from 'cronstrue';
import { clockTime } from '../kit/clock-time.ts';
import { timeTo } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { currentLanguage, heedRefusal } from '../kit/language.ts';
import { formError } from '../kit/parts.ts';
import { page, type UiRoute } from '../kit/ui-routes.ts';

/** Where the script gets the meaning of what is being typed. */
export const SAID_PATH = '/schedules/part/said';

const FIRES = 5;

const require = createRequire(import.meta.url);
/** Not imported: a program in one file would have a copy of its own, which knows none of the locales loaded below. */
const cronstrue = require('cronstrue') as typeof Cronstrue;

/** `At 09:00, only on Monday`; '' if the expression is invalid. */
export function cronWords(expression: string): string {
  try {
    return cronstrue.toString(expression, {
      use24HourTimeFormat: true,
      verbose: false,
      locale: cronLocale(),
    });
  } catch {
    return '';
  }
}

/** Loads the library's locale, once, on first use; falls back to English if it has none. */
function cronLocale(): string {
  const locale = currentLanguage();
  try {
    require(`cronstrue/locales/${locale}`);
    return locale;
  } catch {
    return 'en';
  }
}

/** Shown below the fields while they are being filled in. */
function scheduleSaid(expression: string, zone: string, now = new Date()): Html {
  if (expression.trim() === '') return '';
  try {
    const fires = nextFireTimes(expression, zone.trim() || 'UTC', now, FIRES);
    return html`<p>${cronWords(expression)}</p>
      !${fireList(fires, zone.trim() || 'UTC')}`;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const errors = new FieldErrors(heedRefusal(error), ['cron_expression', 'timezone']);
    return formError(errors.of('cron_expression') ?? errors.of('timezone'));
  }
}

/** The fires in the zone's local time. */
export function fireList(fires: readonly Date[], zone: string): Html {
  const clock = (at: Date): string => clockTime(at, { zone, parts: { weekday: 'short' } });
  return html`<ol class="fires" aria-label="Next fires">
    !${each(fires, (at) => html`<li>${clock(at)} <span class="soft small">!${timeTo(at)}</span></li>`)}
  </ol>`;
}

export const scheduleRoutes: UiRoute[] = [
  page(SAID_PATH, { scope: { by: 'none' }, role: 'none' }, async ({ query }) =>
    scheduleSaid(query.cron_expression ?? '', query.timezone ?? ''),
  ),
];
