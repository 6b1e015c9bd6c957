/** `/invites/{token}`: the invite's page, where its holder can create an account (decisions 7.39). */
import { createValidator, SignUpForm, type UserActor } from '@acp/contract';
import {
  acceptInviteOnce,
  enterAccount,
  type Entry,
  welcomeUser,
  hashChosenPassword,
  joinByInvite,
  type Mailing,
  previewInvite,
  reserveLoginAttempt,
  type SignInPlace,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, notFound, rateLimited, sha256Hex } from '@acp/kernel';
import express, { type Request, type Response, Router } from 'express';
import { assertEnrolled, sessionUser } from '../http/auth.ts';
import { callerPlace } from '../http/caller-place.ts';
import type { Credentials } from '../http/credentials.ts';
import { refuseCrossSite } from '../http/csrf.ts';
import { answerPage, typed } from './answer-page.ts';
import { companyPage, setSignInCookie } from './sign-in-cookie.ts';
import { inviteClosedPage, invitePage } from './invite-pages.ts';
import type { ProviderLink } from './login-pages.ts';
import { entered } from './sign-in.ts';

interface InviteDependencies {
  config: Config;
  database: Database;
  credentials: Credentials;
  providers: readonly ProviderLink[];
  mailing: Mailing;
}

const newcomerForm = createValidator(SignUpForm, 'body');
const closed = (response: Response) => response.status(404).type('html').send(inviteClosedPage());

export function inviteRouter(deps: InviteDependencies): Router {
  const { config, database, credentials, providers } = deps;
  const router = Router();

  function render(
    request: Request<{ token: string }>,
    user: UserActor | undefined,
    invite: Awaited<ReturnType<typeof previewInvite>>,
  ) {
    const { token } = request.params;
    const body: Record<string, unknown> = request.body ?? {};
    return (error: string | null) =>
      invite
        ? invitePage(
            {
              ...invite,
              token,
              user_name: user?.name ?? null,
              providers,
              email: typed(body.email),
              display_name: typed(body.display_name),
            },
            error,
          )
        : undefined;
  }

  router.get('/invites/:token', async (request, response) => {
    response.set('cache-control', 'no-store');
    const invite = await previewInvite(database.db, request.params.token);
    const html = render(request, await sessionUser(credentials, request), invite)(null);
    return html === undefined ? closed(response) : response.type('html').send(html);
  });

  router.post(
    '/invites/:token',
    express.urlencoded({ extended: false, limit: '64kb' }),
    async (request: Request<{ token: string }>, response: Response) => {
      refuseCrossSite(request, config);
      const { token } = request.params;
      const user = await sessionUser(credentials, request);
      const invite = await previewInvite(database.db, token);
      const page = render(request, user, invite);
      const isUser = request.body?.accept === 'yes';
      // Checked first, so that no password is hashed in vain.
      if (!isUser && invite === undefined) return closed(response);
      return answerPage(
        response,
        (error) => page(error) ?? inviteClosedPage(),
        async () => {
          if (isUser || invite === undefined) {
            response.redirect(303, companyPage(await joinAsUser(database, user, token)));
            return;
          }
          const place = callerPlace(request, config.trusted_proxies);
          const form = newcomerForm(request.body ?? {});
          const entry = await joinAsNewcomer(deps, token, form, place);
          response.redirect(
            303,
            setSignInCookie(response, config.public_url, entry, companyPage(invite.company_id)),
          );
        },
      );
    },
  );
  return router;
}

/** @returns the company's id */
async function joinAsUser(database: Database, user: UserActor | undefined, token: string): Promise<string> {
  // The session ended while the page was open: show the newcomer's form again.
  if (!user) throw notFound('you are no longer signed in');
  assertEnrolled(user);
  return transaction(database, (tx) => acceptInviteOnce(tx, user, token));
}

/**
 * Creates the account and signs it in. Its address is unverified until its link has been opened. An address that is taken
 * is reported, since there is an account to sign in to; five times at most, so that no one can probe a list of addresses.
 * @throws rateLimited, and as `joinByInvite`
 */
async function joinAsNewcomer(
  { database, mailing }: Pick<InviteDependencies, 'database' | 'mailing'>,
  token: string,
  form: { email: string; display_name: string; password: string },
  place: SignInPlace,
): Promise<Entry> {
  const { email, display_name } = form;
  const password_hash = await hashChosenPassword(database.db, form.password, [email, display_name]);
  const invite = `invite ${sha256Hex(token)}`;
  const { locked_sec } = await transaction(database, (tx) => reserveLoginAttempt(tx, invite, place.address));
  if (locked_sec !== null) throw rateLimited('too many attempts; try again later', locked_sec);
  return transaction(database, async (tx) => {
    const newcomer = { email, display_name, password_hash, email_verified: false };
    const user = await joinByInvite(tx, token, newcomer);
    await welcomeUser(tx, user, mailing);
    return entered(await enterAccount(tx, user, { method: 'password', place }, { next_path: null }));
  });
}
