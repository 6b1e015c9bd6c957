import type { Database } from '@acp/db';
import type { RequestHandler } from 'express';
import { sessionUser } from '../http/auth.ts';
import type { Credentials } from '../http/credentials.ts';
import { sendToLogin } from '../http/to-login.ts';
import { errorPage } from './kit/error-page.ts';
import { errorPlace } from './kit/error-place.ts';
import { speak } from './kit/languages.ts';
import { t } from './kit/language.ts';

/**
 * Comes after all pages (decisions 10.8): strangers are sent to the sign-in, as from a page that exists, so that nothing
 * reveals which ones do; users get a 404. Missing static files and other methods are not treated as pages.
 */
export function unknownPage(credentials: Credentials, { db }: Database): RequestHandler {
  return async (request, response, next) => {
    if (!['GET', 'HEAD'].includes(request.method) || request.path.startsWith('/static/')) return next();
    const user = await sessionUser(credentials, request);
    if (user === undefined) return sendToLogin(request, response);
    const place = await errorPlace(db, user, request);
    response.setHeader('Cache-Control', 'no-store');
    return speak(request, response, user, () =>
      response
        .status(404)
        .type('html')
        .send(errorPage(user, { status: 404, message: t`not found` }, place)),
    );
  };
}
