/**
 * Answers a browser whose request was refused before any page was asked: by the limit of requests, the rule on origins, the
 * size of its body, a dependency that is away, or an endpoint that a form posts to by itself. Nothing typed is lost.
 */
import type { Actor } from '@acp/contract';
import type { Request, Response } from 'express';
import type { Refusal, RefuseInPage } from '../../http/errors.ts';
import { LARGE_BODY } from '../../http/memory-places.ts';
import { pathBefore } from '../../http/to-login.ts';
import { errorPage, refusalBody, refusalTitle, type Unsent } from './error-page.ts';
import { FormValues } from './form-values.ts';
import { html } from './html.ts';
import { heedRefusal } from './language.ts';
import { speak } from './languages.ts';
import { readUrlencoded } from './sent-form.ts';
import { documentPage } from './shell.ts';

/** Fields of the forms for people without a session. */
const SIGN_IN_SECRETS: readonly string[] = ['password', 'code'];

/** @param secretsAt names the secret fields of the form at a path; undefined for a path that is none of the pages' */
export function refuseInPage(secretsAt: (path: string) => readonly string[] | undefined): RefuseInPage {
  return async (refused, request, response) => {
    const unsent = await readUnsent(request, response, secretsAt(request.path) ?? SIGN_IN_SECRETS);
    const actor = response.locals.actor as Actor | undefined;
    const user = actor?.kind === 'user' ? actor : undefined;
    response.status(refused.status).setHeader('Cache-Control', 'no-store');
    speak(request, response, user, () => {
      heedRefusal(refused);
      response
        .type('html')
        .send(user ? errorPage(user, refused, null, unsent) : signedOutPage(refused, request, unsent));
    });
  };
}

/** Who sent the request is not known, or not asked: a limit must cost less than what it limits. */
const signedOutPage = (refused: Refusal, request: Request, unsent: Unsent | null): string =>
  documentPage(
    refusalTitle(refused.status),
    html`<main class="narrow">
      <h1>${refusalTitle(refused.status)}</h1>
      !${refusalBody(refused, unsent)}
      <p><a href="${pathBefore(request) ?? '/companies'}">Back to the page</a></p>
    </main>`,
    null,
  );

/** What a refused form said. Null if that can't be read, if there was nothing to keep, or if another site may have made the form. */
export async function readUnsent(
  request: Request,
  response: Response,
  secrets: readonly string[],
): Promise<Unsent | null> {
  const length = Number(request.get('content-length') ?? Infinity);
  if (request.method !== 'POST' || length > LARGE_BODY || !isOwnForm(request)) return null;
  try {
    await readUrlencoded(request, response);
  } catch {
    return null;
  }
  return { path: request.originalUrl, typed: new FormValues(request.body), secrets };
}

/** Another site's text under our own button would be sent with the user's rights. */
function isOwnForm(request: Request): boolean {
  const site = request.get('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = request.get('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === request.get('host');
}
