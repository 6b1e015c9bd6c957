/** GET /auth/<provider> and its callback (specification, Public endpoints): a sign-in begins and ends in one browser. */
import { OAUTH_FLOW_MINUTES, openOauthFlow, takeOauthFlow } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, invalid, type Logger, Vault } from '@acp/kernel';
import { type CookieOptions, type Request, type Response, Router } from 'express';
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import { OAUTH_COOKIE, readCookie, SESSION_COOKIE } from '../http/cookies.ts';
import { answerPage } from '../ui/answer-page.ts';
import { loginPage } from '../ui/login-pages.ts';
import { sessionCookie } from '../ui/sign-in.ts';
import { finishSignIn } from './finish-sign-in.ts';
import type { SignInProvider } from './provider.ts';

export interface OauthDependencies {
  config: Config;
  database: Database;
  logger: Logger;
  providers: ReadonlyMap<string, SignInProvider>;
}

export function oauthRouter({ config, database, logger, providers }: OauthDependencies): Router {
  const router = Router();
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);
  const page = (response: Response, { name }: SignInProvider, work: () => Promise<void>) =>
    answerPage(
      response,
      (error) => loginPage({ email: '', error, next: '/companies' }, [...providers.values()]),
      work,
      (error) => logger.warn('a sign-in by a provider failed', { provider: name, error }),
    );

  router.get('/auth/:provider', async (request, response, next) => {
    const provider = providers.get(request.params.provider);
    if (!provider) return next();
    return page(response, provider, async () => {
      const expected = {
        state: randomState(),
        nonce: randomNonce(),
        code_verifier: randomPKCECodeVerifier(),
      };
      const url = await provider.begin(expected);
      const flow = { ...expected, provider: provider.name, invite_token: inviteOf(request) };
      const { token } = await transaction(database, (tx) => openOauthFlow(tx, flow));
      response.set('cache-control', 'no-store');
      response.cookie(OAUTH_COOKIE, token, oauthCookie(config)).redirect(303, url.href);
    });
  });

  router.get('/auth/:provider/callback', async (request, response, next) => {
    const provider = providers.get(request.params.provider);
    if (!provider) return next();
    response.set('cache-control', 'no-store').clearCookie(OAUTH_COOKIE, { path: '/' });
    return page(response, provider, async () => {
      const token = readCookie(request, OAUTH_COOKIE);
      const flow = token
        ? await transaction(database, (tx) => takeOauthFlow(tx, provider.name, token))
        : undefined;
      if (!flow) throw invalid('this sign-in is over or was begun in another browser; begin again');
      const query = request.originalUrl.split('?')[1] ?? '';
      const arrived = await provider.complete(query, flow);
      const session = await finishSignIn({ database, vault }, arrived, flow.invite_token);
      response.cookie(SESSION_COOKIE, session.token, sessionCookie(config.public_url));
      response.redirect(303, '/companies');
    });
  });
  return router;
}

/** `?invite=`: what is not a token of ours is none. */
function inviteOf({ query }: Request): string | null {
  return typeof query.invite === 'string' && /^[\w-]{43}$/.test(query.invite) ? query.invite : null;
}

/** Lax: it has to come along when the provider sends the browser back. */
function oauthCookie({ public_url }: Config): CookieOptions {
  return { ...sessionCookie(public_url), maxAge: OAUTH_FLOW_MINUTES * 60_000 };
}
