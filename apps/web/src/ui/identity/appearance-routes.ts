/** How pages look to the signed-in user. */
import { densities, identityEndpoints, type Preferences, themes } from '@acp/contract';
import { readPreferences } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { languages } from '../kit/languages.ts';
import { type Choice, formError, input, notice, select } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { ZONES, zoneList } from '../kit/zone-list.ts';

const PATH = '/profile/appearance';

async function appearancePage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, query } = context;
  const preferences = await readPreferences(tx, user);
  return shell({
    title: t`Appearance`,
    // The response already shows the change, even if the session was loaded before it.
    user: { ...user, preferences },
    company: null,
    active: '/profile',
    trail: [{ label: t`Profile`, path: '/profile' }],
    body: html`!${notice(query.saved === '1' ? 'Saved.' : null)}!${await appearanceForm(preferences, error, form)}`,
  });
}

async function appearanceForm(
  preferences: Preferences,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const errors = new FieldErrors(error, ['theme', 'density', 'time_zone', 'language']);
  const value = (name: keyof Preferences): string => form?.sent(name) ?? preferences[name] ?? '';
  const listed = (values: readonly string[], otherwise: string) => [
    { value: '', label: otherwise },
    ...values.map((each) => ({ value: each, label: words(each) })),
  ];
  const time_zone = {
    name: 'time_zone',
    label: 'Time zone',
    value: value('time_zone'),
    list: ZONES,
    hint: 'For example Europe/Berlin; empty: the browser’s',
    error: errors.of('time_zone'),
  };
  const fields = html`<form class="card" method="post" action="${PATH}">
    !${formError(errors.general)}
    !${select({ name: 'theme', label: 'Theme', value: value('theme'), choices: listed(themes, t`same as the system`), error: errors.of('theme') })}
    !${select({ name: 'density', label: 'Density', value: value('density'), choices: listed(densities, t`comfortable`), error: errors.of('density') })}
    !${select({ name: 'language', label: 'Language', value: value('language'), choices: languageChoices(), error: errors.of('language') })}
    !${input(time_zone)}
    <p class="soft small">Used for times shown on hover, and as the default for new schedules.</p>
    <button>Save</button>
    !${zoneList()}
  </form>`;
  return asShown(fields, form);
}

/** Each language by its own name, for users who read no other. */
const languageChoices = (): Choice[] => [
  { value: '', label: t`same as the browser` },
  ...languages.map((tag) => ({
    value: tag,
    label: new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag,
  })),
];

export const appearanceRoutes: UiRoute[] = [
  page(PATH, { scope: { by: 'none' }, role: 'none' }, (c) => appearancePage(c)),
  action(PATH, identityEndpoints.updatePreferences, {
    read: ({ whole }) => ({
      theme: whole.cleared('theme') ?? null,
      density: whole.cleared('density') ?? null,
      time_zone: whole.cleared('time_zone') ?? null,
      language: whole.cleared('language') ?? null,
    }),
    edits: (c) => appearancePage(c),
    next: () => `${PATH}?saved=1`,
    failed: appearancePage,
  }),
];
