/** Serves the rows of pages and actions (ui-routes.ts). */
import { createValidator, type EndpointRow, type UserActor, type Validator } from '@acp/contract';
import { type Database, transaction } from '@acp/db';
import { httpStatusOf, isUuid, type Logger, notFound, type ServiceError } from '@acp/kernel';
import type { Request, RequestHandler, Response } from 'express';
import { sessionUser } from '../../http/auth.ts';
import type { Credentials } from '../../http/credentials.ts';
import { publicError } from '../../http/errors.ts';
import { requireRole } from '../../http/roles.ts';
import { RouteTable } from '../../http/route-table.ts';
import { loadScope } from '../../http/scope.ts';
import type { Services } from '../../http/services.ts';
import { sendToLogin } from '../../http/to-login.ts';
import { errorPage } from './error-page.ts';
import { SentForm } from './sent-form.ts';
import type { ActionRow, UiContext, UiRoute } from './ui-routes.ts';

export interface UiMountDependencies {
  database: Database;
  credentials: Credentials;
  services: Services;
  logger: Logger;
}

interface Mounted {
  route: UiRoute;
  params: readonly string[];
  validate: Validator<unknown> | undefined;
}

type Access = Pick<EndpointRow, 'scope' | 'role' | 'permission'>;

/** What is no page is passed on. Whoever is not signed in is sent to the sign-in and back again. */
export function mountUi(routes: readonly UiRoute[], deps: UiMountDependencies): RequestHandler {
  const table = new RouteTable<Mounted>();
  for (const route of routes) {
    const params = [...route.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]!);
    const body = route.kind === 'action' ? route.endpoint.body : undefined;
    const mounted = { route, params, validate: body && createValidator(body, 'form') };
    table.add({ method: route.kind === 'page' ? 'GET' : 'POST', path: route.path }, mounted);
  }
  return async (request, response, next) => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const match = table.find(method, request.path);
    if (match === undefined) return next();
    const user = await sessionUser(deps.credentials, request);
    if (!user) return sendToLogin(request, response);
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Vary', 'HX-Request');
    try {
      await serve(match.target, match.values, { user, request, response }, deps);
    } catch (error) {
      answerError(error, user, request, response, deps.logger);
    }
  };
}

interface Caller {
  user: UserActor;
  request: Request;
  response: Response;
}

async function serve(
  { route, params, validate }: Mounted,
  values: readonly string[],
  caller: Caller,
  deps: UiMountDependencies,
): Promise<void> {
  const { database, services } = deps;
  const access: Access = route.kind === 'page' ? route : route.endpoint;
  const named = Object.fromEntries(params.map((name, index) => [name, readParam(name, values[index] ?? '')]));
  const id = 'param' in access.scope ? (named[access.scope.param] ?? '') : '';
  const scoped = await loadScope(database.db, caller.user, access, id);
  requireRole(access, caller.user, scoped.company_id);
  const context = {
    ...caller,
    ...scoped,
    tx: database.db,
    params: named,
    query: readQuery(caller.request),
    services,
    fragment: caller.request.get('hx-request') === 'true',
  } as UiContext;
  if (route.kind === 'page') sendPage(caller.response, await route.render(context));
  else await perform(route, context, validate, deps);
}

/** HTML, unless the page has said that it answers something else. */
function sendPage(response: Response, text: string): void {
  if (!response.hasHeader('content-type')) response.type('html');
  response.send(text);
}

async function perform(
  route: ActionRow,
  context: UiContext,
  validate: Validator<unknown> | undefined,
  { database }: UiMountDependencies,
): Promise<void> {
  const { response } = context;
  const sent = new SentForm(route.endpoint, context);
  try {
    await sent.read();
    const values = withoutUndefined(route.read(sent.values));
    const body = validate ? validate(values) : undefined;
    const act = { ...context, body, files: sent.files };
    const result =
      route.endpoint.tx === 'write'
        ? await transaction(database, async (tx) => route.run({ ...act, tx } as never))
        : await route.run(act as never);
    const next = await route.next(context, result);
    if (next.startsWith('/')) goTo(next, context);
    else response.type('html').send(next);
  } catch (error) {
    await sent.discard();
    const known = publicError(error);
    if (!known || known.kind === 'unavailable' || !route.failed) throw error;
    response.status(httpStatusOf(known.kind)).type('html');
    response.send(await route.failed(context, known.message, sent.values));
  }
}

/** htmx follows a redirect by itself only within its swap: a header tells it to go there as a browser would. */
function goTo(path: string, { fragment, response }: UiContext): void {
  if (fragment) response.setHeader('HX-Redirect', path).status(204).end();
  else response.redirect(303, path);
}

function readParam(name: string, raw: string): string {
  const value = decodeURIComponent(raw);
  if (/id$/i.test(name) ? !isUuid(value) : value.includes('\0')) throw notFound();
  return /id$/i.test(name) ? value.toLowerCase() : value;
}

function readQuery(request: Request): Record<string, string> {
  const entries = Object.entries(request.query).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : '',
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function withoutUndefined(values: unknown): unknown {
  if (typeof values !== 'object' || values === null) return values;
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function answerError(
  error: unknown,
  user: UserActor,
  request: Request,
  response: Response,
  logger: Logger,
): void {
  const known: ServiceError | null = publicError(error);
  if (known === null) logger.error('a page failed', { method: request.method, path: request.path, error });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = known === null ? 500 : httpStatusOf(known.kind);
  response
    .status(status)
    .type('html')
    .send(errorPage(user, status, known?.message ?? 'internal error'));
}
