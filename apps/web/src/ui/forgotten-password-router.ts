/** /forgot-password and /reset-password: resets a password by a mailed link, for users without a session. */
import {
  accountMailEndpoints,
  CompletePasswordReset,
  createValidator,
  RequestPasswordReset,
} from '@acp/contract';
import { mailsLinks, previewPasswordReset } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
import express, { type Request, Router } from 'express';
import { askForReset, setForgottenPassword } from '../api/identity/forgotten-password.ts';
import { refuseCrossSite } from '../http/csrf.ts';
import type { Services } from '../http/services.ts';
import { answerPage, typed } from './answer-page.ts';
import {
  linkSpentPage,
  newPasswordPage,
  noResetPage,
  requestResetPage,
  resetRequestedPage,
} from './forgotten-password-pages.ts';

interface Dependencies {
  config: Config;
  database: Database;
  services: Services;
}

const requestForm = createValidator(RequestPasswordReset, 'body');
const passwordForm = createValidator(CompletePasswordReset, 'body');

export function forgottenPasswordRouter({ config, database, services }: Dependencies): Router {
  const { instance, mailing } = services;
  const { requestPasswordReset, completePasswordReset } = accountMailEndpoints;
  const router = Router();
  const forms = express.urlencoded({ extended: false, limit: '8kb' });
  const accountOf = async (token: string) =>
    token === '' ? undefined : previewPasswordReset(database.db, token);
  router.use(['/forgot-password', '/reset-password'], (_request, response, next) => {
    response.set('cache-control', 'no-store').type('html');
    next();
  });

  router.get('/forgot-password', (_request, response) =>
    response.send(mailsLinks(mailing) ? requestResetPage('', null) : noResetPage()),
  );
  router.post('/forgot-password', forms, async (request, response) => {
    refuseCrossSite(request, config);
    await answerPage(
      response,
      (error) => requestResetPage(typed(request.body?.email), error),
      async () => {
        instance.requireEntitlement(requestPasswordReset);
        await askForReset(services, request, requestForm(request.body ?? {}).email);
        response.send(resetRequestedPage());
      },
    );
  });

  // Opening the link does not spend it: mail scanners follow links.
  router.get('/reset-password', async (request, response) => {
    const token = typed(request.query.token);
    const user = await accountOf(token);
    if (user) response.send(newPasswordPage({ token, email: user.email }, null));
    else response.status(404).send(linkSpentPage());
  });
  router.post('/reset-password', forms, async (request: Request, response) => {
    refuseCrossSite(request, config);
    const token = typed(request.body?.token);
    const user = await accountOf(token);
    if (!user) return response.status(404).send(linkSpentPage());
    return answerPage(
      response,
      (error) => newPasswordPage({ token, email: user.email }, error),
      async () => {
        instance.requireEntitlement(completePasswordReset);
        await setForgottenPassword(database.db, services, request, passwordForm(request.body ?? {}));
        response.redirect(303, '/login?done=password');
      },
    );
  });
  return router;
}
