/** HTML pages: server-rendered, session only (specification, Public endpoints: /login, /logout). */
import { createValidator, LoginForm, SetupForm } from '@acp/contract';
import { closeSession, listCompanies, presentCompany, setupTokenValid } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { clientAddress, type Config, httpStatusOf, ServiceError } from '@acp/kernel';
import express, { type Request, type Response, Router } from 'express';
import { resolve } from 'node:path';
import { sessionUser } from '../http/auth.ts';
import { SESSION_COOKIE } from '../http/cookies.ts';
import type { Credentials } from '../http/credentials.ts';
import { refuseCrossSite } from '../http/csrf.ts';
import { companiesPage } from './companies-page.ts';
import { loginPage, setupClosedPage, setupPage } from './login-pages.ts';
import { sessionCookie, setUp, signIn } from './sign-in.ts';

export interface UiDependencies {
  config: Config;
  database: Database;
  credentials: Credentials;
}

const loginForm = createValidator(LoginForm, 'form');
const setupForm = createValidator(SetupForm, 'form');

/** Style sheets and scripts. Without a hash in their names they are asked for again after a while. */
const assets = resolve(import.meta.dirname, '../../assets');

const text = (value: unknown) => (typeof value === 'string' ? value : '');

export function uiRouter(deps: UiDependencies): Router {
  const { config, database, credentials } = deps;
  const router = Router();
  const forms = express.urlencoded({ extended: false, limit: '64kb' });
  const signedIn = (response: Response, token: string) => {
    response.cookie(SESSION_COOKIE, token, sessionCookie(config.public_url)).redirect(303, '/companies');
  };

  router.use('/static', express.static(assets, { maxAge: '5m', index: false, redirect: false }));
  router.get('/', (_request, response) => response.redirect(303, '/companies'));
  router.get('/login', (_request, response) => response.type('html').send(loginPage('', null)));
  router.post('/login', forms, async (request, response) => {
    refuseCrossSite(request, config);
    await answerForm(
      response,
      (error) => loginPage(text(request.body?.email), error),
      async () => {
        const form = loginForm(request.body ?? {});
        const { token } = await signIn(database, { ...form, address: addressOf(request, config) });
        signedIn(response, token);
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
    const token = text(request.query.token);
    const open = token !== '' && (await setupTokenValid(database.db, token));
    response.type('html').status(open ? 200 : 403);
    response.send(open ? setupPage({ token, email: '', display_name: '' }, null) : setupClosedPage());
  });
  router.post('/setup', forms, async (request, response) => {
    refuseCrossSite(request, config);
    const body: Record<string, unknown> = request.body ?? {};
    const values = {
      token: text(body.token),
      email: text(body.email),
      display_name: text(body.display_name),
    };
    await answerForm(
      response,
      (error) => setupPage(values, error),
      async () => {
        const { token } = await setUp(database, setupForm(body));
        signedIn(response, token);
      },
    );
  });

  router.get('/companies', async (request, response) => {
    const user = await sessionUser(credentials, request);
    if (!user) return response.redirect(303, '/login');
    const visible = user.instance_role === 'admin' ? null : Object.keys(user.roles);
    const companies = await listCompanies(database.db, visible);
    return response.type('html').send(companiesPage(user.name, companies.map(presentCompany)));
  });
  return router;
}

/** What the user can mend comes back in the form, with its status; anything else goes to the error handler. */
async function answerForm(
  response: Response,
  render: (error: string) => string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind === 'unavailable') throw error;
    if (error.retry_after_sec !== undefined) response.set('retry-after', String(error.retry_after_sec));
    response.status(httpStatusOf(error.kind)).type('html').send(render(error.message));
  }
}

function addressOf(request: Request, config: Config): string {
  const forwarded = request.headers['x-forwarded-for'];
  const header = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
  return clientAddress(request.socket.remoteAddress, header, config.trusted_proxies);
}
