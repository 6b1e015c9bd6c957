/** Pages for users without a session: sign-in, set-up, forgotten password, providers, invites. */
import { mailsLinks } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import { Router } from 'express';
import type { Credentials } from '../http/credentials.ts';
import type { Services } from '../http/services.ts';
import { createProviders } from '../oauth/providers.ts';
import { oauthRouter } from '../oauth/router.ts';
import { forgottenPasswordRouter } from './forgotten-password-router.ts';
import { inviteRouter } from './invite-router.ts';
import { signInRouter } from './sign-in-router.ts';

interface SignedOutDependencies {
  config: Config;
  database: Database;
  credentials: Credentials;
  services: Services;
  logger: Logger;
}

export function signedOutRouter(deps: SignedOutDependencies): Router {
  const { mailing } = deps.services;
  const providers = createProviders(deps.config);
  const links = [...providers.values()];
  const ways = { providers: links, password_reset: mailsLinks(mailing) };
  const router = Router();
  router.use(signInRouter(deps, ways));
  router.use(forgottenPasswordRouter(deps));
  router.use(oauthRouter({ ...deps, providers, ways, mailing }));
  router.use(inviteRouter({ ...deps, providers: links, mailing }));
  return router;
}
