/** Serves the rows of pages and actions (ui-routes.ts). */
import type { RequestHandler } from 'express';
import { sessionUser } from '../../http/auth.ts';
import type { Credentials } from '../../http/credentials.ts';
import type { Route } from '../../http/handle.ts';
import { pathNames } from '../../http/mounted-row.ts';
import { RouteTable } from '../../http/route-table.ts';
import type { Services } from '../../http/services.ts';
import { confirmContext, contextOf, type MountedRoute } from './context.ts';
import { Endpoints } from './endpoints.ts';
import { type PageDependencies, performAction } from './perform-action.ts';
import { speak } from './languages.ts';
import { answerError } from './refusal.ts';
import { sendPage, sendToPage } from './send-page.ts';
import { redirectToLogin } from './signed-out-page.ts';
import type { UiContext, UiRoute } from './ui-routes.ts';

interface UiMountDependencies extends Omit<PageDependencies, 'endpoints'> {
  /** The API's routes, which carry out the actions. */
  routes: readonly Route[];
  credentials: Credentials;
  services: Services;
}

/** The only pages open to users whose mandatory second factor is missing. */
const ENROLMENT_PAGES = '/profile/security';

interface MountedPages {
  /** Passes on requests for other paths. Redirects callers without a session to the sign-in and back. */
  handler: RequestHandler;
  /** Names of the secret fields of the form at a path; undefined if it has none. */
  secretsAt: (path: string) => readonly string[] | undefined;
}

export function mountUi(routes: readonly UiRoute[], options: UiMountDependencies): MountedPages {
  const deps = { ...options, endpoints: new Endpoints(routes, options.routes) };
  const table = new RouteTable<MountedRoute>();
  for (const route of routes) {
    const method = route.kind === 'page' ? 'GET' : 'POST';
    table.add({ method, path: route.path }, { route, params: pathNames(route.path) });
  }
  const secretsOf = (route: UiRoute): readonly string[] =>
    route.kind === 'action' ? deps.endpoints.secretsOf(route) : [];
  const handler: RequestHandler = async (request, response, next) => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (method === 'GET' && sendToPage(table, request, response)) return undefined;
    const match = table.find(method, request.path);
    if (match === undefined) return next();
    response.locals.operation = `page ${match.target.route.path}`;
    const user = await sessionUser(deps.credentials, request);
    response.setHeader('Cache-Control', 'no-store');
    response.vary('HX-Request');
    const { route } = match.target;
    if (!user) return redirectToLogin(request, response, secretsOf(route));
    if (user.must_enrol && !route.path.startsWith(ENROLMENT_PAGES))
      return response.redirect(303, ENROLMENT_PAGES);
    return speak(request, response, user, async () => {
      try {
        const context = await contextOf(match.target, match.values, { user, request, response }, deps);
        const isWhole = request.complete;
        await serve(route, context, deps, async (waited) =>
          confirmContext(match.target, match.values, { context, isCurrent: isWhole && !waited }, deps),
        );
      } catch (error) {
        await answerError(error, user, { request, response }, deps, secretsOf(route));
      }
    });
  };
  return { handler, secretsAt };

  function secretsAt(path: string): readonly string[] | undefined {
    try {
      const match = table.find('POST', path);
      return match && secretsOf(match.target.route);
    } catch {
      // The path takes no form.
      return undefined;
    }
  }
}

async function serve(
  route: UiRoute,
  context: UiContext,
  deps: PageDependencies,
  confirm: (waited: boolean) => Promise<UiContext>,
): Promise<void> {
  if (route.kind === 'action') return performAction(route, context, confirm, deps);
  const text = await deps.texts.finish(await route.render(context), context);
  await sendPage(context.request, context.response, text);
}
