/** The user's own address: the page a mailed link opens, and the forms for a pending confirmation. */
import { accountMailEndpoints as rows } from '@acp/contract';
import { previewConfirmation } from '@acp/core';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { formError } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { profilePage } from './profile-routes.ts';

const PAGE = '/confirm-email';

/** Opening the link confirms nothing: mail scanners follow links. */
async function confirmPage(context: UiContext<'none'>, token: string, error: string | null): Promise<Html> {
  const { tx, user, response } = context;
  response.set('cache-control', 'no-store');
  const found = await previewConfirmation(tx, user, token);
  const body = found
    ? html`<section class="card">
        !${formError(error)}
        <p>
          Is <strong>${found.email}</strong> your address?
          ${found.email === found.former ? t`It stays` : t`It takes the place of ${found.former} as`} that of
          the account of ${user.name}.
        </p>
        <form method="post" action="${PAGE}">
          <input type="hidden" name="token" value="${token}" /><button>Confirm the address</button>
        </form>
      </section>`
    : html`<section class="card">
        <p>This link is no longer valid, or is for an account other than that of ${user.name}.</p>
        <p>
          <a href="/profile">Your profile</a> shows what is waiting for confirmation, and sends a new link.
        </p>
      </section>`;
  return shell({
    title: found ? t`Confirm your address` : t`This link is not valid`,
    user,
    company: null,
    active: '/profile',
    trail: [{ label: t`Profile`, path: '/profile' }],
    body,
  });
}

export const emailRoutes: UiRoute[] = [
  page(PAGE, { scope: { by: 'none' }, role: 'none' }, (c) => confirmPage(c, c.query.token ?? '', null)),
  action(PAGE, rows.confirmEmail, {
    read: (form) => ({ token: form.text('token') }),
    next: () => '/profile?done=confirmed',
    failed: (c, error, form) => confirmPage(c, form.text('token'), error),
  }),
  action('/profile/email/resend', rows.resendConfirmation, {
    next: () => '/profile?done=sent',
    failed: profilePage,
  }),
  action('/profile/email/cancel', rows.cancelEmailChange, {
    next: () => '/profile?done=cancelled',
    failed: profilePage,
  }),
];
