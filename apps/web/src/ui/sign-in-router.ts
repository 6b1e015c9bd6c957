/** /login, /logout and the first-run /setup (specification, Public endpoints). */
import { createValidator, LoginForm, SetupForm } from '@acp/contract';
import { closeSession, type Entry, hasUsers, setupTokenValid } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Config } from '@acp/kernel';
import express, { type Response, Router } from 'express';
import { sessionUser } from '../http/auth.ts';
import { callerPlace } from '../http/caller-place.ts';
import { SESSION_COOKIE } from '../http/cookies.ts';
import type { Credentials } from '../http/credentials.ts';
import { refuseCrossSite } from '../http/csrf.ts';
import { answerPage, typed } from './answer-page.ts';
import { setSignInCookie, ownPath, START_PAGE } from './sign-in-cookie.ts';
import { loginPage, setupClosedPage, setupPage, type SignInWays } from './login-pages.ts';
import { secondStepRouter } from './second-step-router.ts';
import { setUp, signIn } from './sign-in.ts';

interface SignInDependencies {
  config: Config;
  database: Database;
  credentials: Credentials;
}

const loginForm = createValidator(LoginForm, 'body');
const setupForm = createValidator(SetupForm, 'body');

export function signInRouter(deps: SignInDependencies, ways: SignInWays): Router {
  const { config, database, credentials } = deps;
  const router = Router();
  const forms = express.urlencoded({ extended: false, limit: '64kb' });
  const signedIn = (response: Response, entry: Entry, path = START_PAGE) => {
    response.redirect(303, setSignInCookie(response, config.public_url, entry, path));
  };

  let isNew = true;
  /** Asks no more once there is a user; a sign-in page is shown without the database, too. */
  const awaitsSetup = async (): Promise<boolean> => {
    if (!isNew) return false;
    const found = await hasUsers(database.db).catch(() => null);
    isNew = found !== true;
    return found === false;
  };

  router.use(secondStepRouter({ config, database }));
  router.get('/login', async (request, response) =>
    response.type('html').send(
      loginPage(
        {
          email: '',
          error: null,
          next: ownPath(request.query.next),
          password_set: request.query.done === 'password',
          is_new: await awaitsSetup(),
        },
        ways,
      ),
    ),
  );
  router.post('/login', forms, async (request, response) => {
    refuseCrossSite(request, config);
    await answerPage(
      response,
      (error) =>
        loginPage({ email: typed(request.body?.email), error, next: ownPath(request.body?.next) }, ways),
      async () => {
        const form = loginForm(request.body ?? {});
        const next_path = ownPath(request.body?.next);
        const place = callerPlace(request, config.trusted_proxies);
        signedIn(response, await signIn(database, { ...form, place, next_path }), next_path);
      },
    );
  });
  router.post('/logout', async (request, response) => {
    refuseCrossSite(request, config);
    const user = await sessionUser(credentials, request);
    const session_id = user?.session_id;
    if (session_id) await transaction(database, (tx) => closeSession(tx, session_id));
    response.clearCookie(SESSION_COOKIE, { path: '/' }).redirect(303, '/login');
  });

  router.get('/setup', async (request, response) => {
    const token = typed(request.query.token);
    const open = token !== '' && (await setupTokenValid(database.db, token));
    response.type('html').status(open ? 200 : 403);
    response.send(open ? setupPage({ token, email: '', display_name: '' }, null) : setupClosedPage());
  });
  router.post('/setup', forms, async (request, response) => {
    refuseCrossSite(request, config);
    const body: Record<string, unknown> = request.body ?? {};
    const values = {
      token: typed(body.token),
      email: typed(body.email),
      display_name: typed(body.display_name),
    };
    await answerPage(
      response,
      (error) => setupPage(values, error),
      async () => {
        const place = callerPlace(request, config.trusted_proxies);
        signedIn(response, await setUp(database, setupForm(body), place));
      },
    );
  });
  return router;
}
