import { secondFactorEndpoints as rows } from '@acp/contract';
import { listSessions, pendingTotp, readSecondFactors } from '@acp/core';
import { passkeysPossible } from '../../passkeys/relying-party.ts';
import type { Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { browserNames } from './browser-names.ts';
import { SECURITY_PAGE, securityBody } from './security-pages.ts';

type Context = UiContext<'none'>;

const done: Record<string, string> = texts({
  app: 'The app has been removed.',
  passkey: 'The passkey has been added.',
  removed: 'The passkey has been removed.',
  ended: 'That session has been ended.',
  others: 'All other sessions have been ended.',
});

async function securityPage(
  context: Context,
  error: string | null = null,
  recovery_codes: readonly string[] | null = null,
): Promise<Html> {
  const { tx, user, query, services } = context;
  const view = {
    factors: await readSecondFactors(tx, user.user_id),
    sessions: await listSessions(tx, user),
    browsers: await browserNames(),
    pending: (await pendingTotp(tx, user.user_id, services.vault)) ?? null,
    recovery_codes,
    passkeys_possible: passkeysPossible(services.public_url),
    must_enrol: user.must_enrol === true && recovery_codes === null,
    error,
    done: done[query.done ?? ''] ?? null,
  };
  return shell({
    title: t`Sign-in and security`,
    user,
    company: null,
    active: '/profile',
    trail: [{ label: t`Profile`, path: '/profile' }],
    body: securityBody(view),
  });
}

const failed = (context: Context, error: string) => securityPage(context, error);
/** The codes are shown only in this response, so there is no redirect. */
const shown = (context: Context, { recovery_codes: codes }: { recovery_codes: readonly string[] }) =>
  codes.length > 0 ? securityPage(context, null, codes) : SECURITY_PAGE;

export const securityRoutes: UiRoute[] = [
  page(SECURITY_PAGE, { scope: { by: 'none' }, role: 'none' }, (c) => securityPage(c)),
  action(`${SECURITY_PAGE}/totp`, rows.beginTotp, {
    next: () => SECURITY_PAGE,
    failed,
  }),
  action(`${SECURITY_PAGE}/totp/confirm`, rows.confirmTotp, {
    read: (form) => ({ code: form.text('code').replaceAll(/\s/g, '') }),
    next: shown,
    failed,
  }),
  action(`${SECURITY_PAGE}/totp/remove`, rows.removeTotp, {
    next: () => `${SECURITY_PAGE}?done=app`,
    failed,
  }),
  action(`${SECURITY_PAGE}/recovery-codes`, rows.renewRecoveryCodes, {
    next: shown,
    failed,
  }),
  action(`${SECURITY_PAGE}/passkeys/{passkeyId}/remove`, rows.removePasskey, {
    next: () => `${SECURITY_PAGE}?done=removed`,
    failed,
  }),
  action(`${SECURITY_PAGE}/sessions/end-others`, rows.endOtherSessions, {
    next: () => `${SECURITY_PAGE}?done=others`,
    failed,
  }),
  action(`${SECURITY_PAGE}/sessions/{sessionId}/end`, rows.endSession, {
    next: () => `${SECURITY_PAGE}?done=ended`,
    failed,
  }),
];
