/** HTML pages: server-rendered, session only (specification, Public endpoints: /login, /logout). */
import type { Database } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import { type RequestHandler, Router } from 'express';
import { apiRoutes } from '../api/index.ts';
import type { Credentials } from '../http/credentials.ts';
import type { RefuseInPage } from '../http/errors.ts';
import { createServices, type Services } from '../http/services.ts';
import { assetsRouter } from './kit/assets.ts';
import { sharedTexts } from './kit/markdown-renderer.ts';
import { useBrowserLanguage } from './kit/languages.ts';
import { mountUi } from './kit/mount-ui.ts';
import { refuseInPage } from './kit/refused-request.ts';
import { uiPages } from './pages.ts';
import { signedOutRouter } from './signed-out-router.ts';
import { unknownPage } from './unknown-page.ts';

interface UiDependencies {
  config: Config;
  database: Database;
  credentials: Credentials;
  /** Created from database and configuration if absent; then no command is answered. */
  services?: Services;
  logger: Logger;
}

/** @returns the pages, and what answers a browser whose request was refused before it came to one */
export function uiRouter(deps: UiDependencies): { pages: RequestHandler; refuse: RefuseInPage } {
  const { config, database, credentials, logger } = deps;
  const router = Router();
  const services = deps.services ?? createServices({ database, config, logger });

  router.use('/static', (_request, response, next) => {
    response.locals.operation = 'static';
    next();
  });
  router.use('/static', assetsRouter());
  router.use(useBrowserLanguage);
  router.get('/', (_request, response) => response.redirect(303, '/companies'));
  router.use(signedOutRouter({ config, database, credentials, services, logger }));

  const parts = { database, credentials, services, logger, routes: apiRoutes, texts: sharedTexts };
  const { handler, secretsAt } = mountUi(uiPages, parts);
  router.use(handler);
  router.use(unknownPage(credentials, database));
  return { pages: router, refuse: refuseInPage(secretsAt) };
}
