import { licenseEndpoints as rows } from '@acp/contract';
import { licenseState } from '@acp/core';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { writtenDay } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { formError, input, notice, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const PATH = '/admin/license';

async function licensePage(
  { tx, user, query }: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const state = await licenseState(tx);
  const errors = new FieldErrors(error, ['license_key'], { license: 'license_key' });
  const until = state.expires_at === null ? t`no expiry` : t`until ${writtenDay(state.expires_at)}`;
  const body = html`!${notice(query.done === 'installed' ? 'The license has been installed.' : undefined)}
    <section class="card">
      <h2>This instance</h2>
      <p>!${status(state.status)} ${state.holder ?? ''} ${state.read_only ? '' : until}</p>
      !${when(state.read_only || null, () => html`<p class="error">Nothing can be changed and no runs start; work in progress will finish.</p>`)}
    </section>
    <form class="card" method="post" action="${PATH}">
      <h2>Install a license</h2>
      !${formError(errors.general)}
      !${input({ name: 'license_key', label: 'License key', required: true, value: form?.text('license_key') ?? '', error: errors.of('license_key') })}
      <button>Install</button>
    </form>`;
  return shell({ title: t`License`, user, company: null, active: PATH, body });
}

export const licenseRoutes: UiRoute[] = [
  page(PATH, { scope: { by: 'none' }, role: 'instance_admin' }, (c) => licensePage(c)),
  action(PATH, rows.install, {
    read: (form) => ({ license_key: form.text('license_key') }),
    next: () => `${PATH}?done=installed`,
    failed: licensePage,
  }),
];
