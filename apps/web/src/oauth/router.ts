/** GET /auth/<provider> and its callback (specification, Public endpoints): a sign-in must begin and end in one browser. */
import { type Mailing, OAUTH_FLOW_MINUTES, openOauthFlow, previewInvite, takeOauthFlow } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import {
  type Config,
  invalid,
  type Logger,
  notFound,
  said,
  sha256Hex,
  unauthenticated,
  Vault,
} from '@acp/kernel';
import { type CookieOptions, type Request, type Response, Router } from 'express';
import { callerPlace } from '../http/caller-place.ts';
import { OAUTH_COOKIE, readCookie } from '../http/cookies.ts';
import { queryOf } from '../http/input.ts';
import { answerPage } from '../ui/answer-page.ts';
import { companyPage, setSignInCookie, ownPath, sessionCookie, START_PAGE } from '../ui/sign-in-cookie.ts';
import { loginPage, type SignInWays } from '../ui/login-pages.ts';
import { finishSignIn } from './finish-sign-in.ts';
import type { SignInProvider } from './provider.ts';

interface OauthDependencies {
  config: Config;
  database: Database;
  logger: Logger;
  providers: ReadonlyMap<string, SignInProvider>;
  ways: SignInWays;
  mailing: Mailing;
}

export function oauthRouter({
  config,
  database,
  logger,
  providers,
  ways,
  mailing,
}: OauthDependencies): Router {
  const router = Router();
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);
  /** @param tab where the browser was heading, known once the flow is */
  const page = (
    response: Response,
    { name }: SignInProvider,
    tab: { next: string },
    work: () => Promise<void>,
  ) =>
    answerPage(
      response,
      (error) => loginPage({ email: '', error, next: tab.next }, ways),
      work,
      (error) => logger.warn('a sign-in by a provider failed', { provider: name, error }),
    );

  router.get('/auth/:provider', async (request, response) => {
    const provider = providers.get(request.params.provider);
    if (!provider) throw notFound();
    const invite = inviteOf(request);
    // Joining a company is one's own decision, which a link on another site or in a mail must not take: the page asks first.
    if (invite !== null && !isFromOwnPage(request)) return response.redirect(303, `/invites/${invite}`);
    const tab = { next: ownPath(request.query.next) };
    return page(response, provider, tab, async () => {
      const { randomNonce, randomPKCECodeVerifier, randomState } = await import('openid-client');
      const expected = {
        state: randomState(),
        nonce: randomNonce(),
        code_verifier: randomPKCECodeVerifier(),
      };
      const url = await provider.begin(expected);
      const flow = {
        ...expected,
        provider: provider.name,
        invite_token: invite && sha256Hex(invite),
        next_path: tab.next,
      };
      const { token } = await transaction(database, (tx) => openOauthFlow(tx, flow));
      response.set('cache-control', 'no-store');
      const tokens = [token, ...flowTokens(request)].slice(0, MAX_FLOWS);
      response.cookie(OAUTH_COOKIE, tokens.join('.'), oauthCookie(config)).redirect(303, url.href);
    });
  });

  router.get('/auth/:provider/callback', async (request, response) => {
    const provider = providers.get(request.params.provider);
    if (!provider) throw notFound();
    response.set('cache-control', 'no-store');
    const tab = { next: START_PAGE };
    return page(response, provider, tab, async () => {
      const tokens = flowTokens(request);
      const state = typeof request.query.state === 'string' ? request.query.state : '';
      const { flow, open } = await transaction(database, (tx) =>
        takeOauthFlow(tx, provider.name, tokens, state),
      );
      if (!flow) {
        if (open) throw unauthenticated(said`the answer of ${provider.label} could not be verified`);
        throw invalid('this sign-in has expired or was begun in another browser; start again');
      }
      tab.next = ownPath(flow.next_path);
      const left = tokens.filter((token) => sha256Hex(token) !== flow.token_hash);
      if (left.length === 0) response.clearCookie(OAUTH_COOKIE, { path: '/' });
      else response.cookie(OAUTH_COOKIE, left.join('.'), oauthCookie(config));
      const query = queryOf(request.originalUrl);
      const arrived = await provider.complete(query, flow);
      const place = callerPlace(request, config.trusted_proxies);
      const invite = flow.invite_token === null ? null : { hash: flow.invite_token };
      const joined = invite === null ? undefined : await previewInvite(database.db, invite);
      const next_path = joined === undefined ? tab.next : companyPage(joined.company_id);
      const means = { database, vault, place, mailing };
      const entry = await finishSignIn(means, arrived, { invite, next_path });
      response.redirect(303, setSignInCookie(response, config.public_url, entry, next_path));
    });
  });
  return router;
}

// Concurrent sign-ins in tabs of one browser; the oldest is dropped.
const MAX_FLOWS = 5;

/** Newest first. */
function flowTokens(request: Request): string[] {
  const tokens = readCookie(request, OAUTH_COOKIE)?.split('.') ?? [];
  return tokens.filter((token) => /^[\w-]{43}$/.test(token)).slice(0, MAX_FLOWS);
}

/** `?invite=`: ignored unless it is a token of ours. */
function inviteOf({ query }: Request): string | null {
  return typeof query.invite === 'string' && /^[\w-]{43}$/.test(query.invite) ? query.invite : null;
}

/** As far as the browser says. */
const isFromOwnPage = ({ headers }: Request): boolean =>
  (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';

/** Lax: it must be sent when the provider redirects the browser back. */
function oauthCookie({ public_url }: Config): CookieOptions {
  return { ...sessionCookie(public_url), maxAge: OAUTH_FLOW_MINUTES * 60_000 };
}
