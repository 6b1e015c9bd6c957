import type { Request, Response } from 'express';
import { sendToLogin } from '../../http/to-login.ts';
import { resendForm } from './error-page.ts';
import { FormValues } from './form-values.ts';
import { html } from './html.ts';
import { t } from './language.ts';
import { readUrlencoded } from './sent-form.ts';
import { documentPage } from './shell.ts';

/** Redirects a caller without a session to the sign-in, and back afterwards. */
export async function redirectToLogin(
  request: Request,
  response: Response,
  secrets: readonly string[],
): Promise<void> {
  if (!(await keepForLater(request, response, secrets))) sendToLogin(request, response);
}

/**
 * The session ended while the user was typing: responds with what was typed, to be sent again after a sign-in in another
 * tab. False if there is nothing to keep, or if another site may have made the form: its text under our own button would be
 * sent with the user's rights.
 */
async function keepForLater(
  request: Request,
  response: Response,
  secrets: readonly string[],
): Promise<boolean> {
  if (request.method !== 'POST' || request.get('sec-fetch-site') !== 'same-origin') return false;
  await readUrlencoded(request, response);
  const form = resendForm({ path: request.originalUrl, typed: new FormValues(request.body), secrets });
  if (form === '') return false;
  const body = html`<main class="page">
    <h1>You are signed out</h1>
    <p class="lead">
      Nothing is lost: <a href="/login" target="_blank">sign in in another tab</a>, then send this again.
    </p>
    !${form}
  </main>`;
  response
    .status(401)
    .type('html')
    .send(documentPage(t`Signed out`, body, null));
  return true;
}
