import type { Request, Response } from 'express';
import { sendToLogin } from '../../http/to-login.ts';
import { resendForm } from './error-page.ts';
import { html } from './html.ts';
import { t } from './language.ts';
import { readUnsent } from './refused-request.ts';
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
 * tab. False if there is nothing to keep.
 */
async function keepForLater(
  request: Request,
  response: Response,
  secrets: readonly string[],
): Promise<boolean> {
  const unsent = await readUnsent(request, response, secrets);
  const form = unsent && resendForm(unsent);
  if (!form) return false;
  const body = html`<main class="narrow">
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
