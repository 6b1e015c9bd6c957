/** Serves the rows of pages and actions (ui-routes.ts). */
import { createValidator, type EndpointRow, type UserActor, type Validator } from '@acp/contract';
import { lastSequence } from '@acp/core';
import { isUuid, notFound } from '@acp/kernel';
import type { Request, RequestHandler, Response } from 'express';
import { sessionUser } from '../../http/auth.ts';
import type { Credentials } from '../../http/credentials.ts';
import { requireRole } from '../../http/roles.ts';
import { RouteTable } from '../../http/route-table.ts';
import { loadScope } from '../../http/scope.ts';
import type { Services } from '../../http/services.ts';
import { type PageDependencies, performAction } from './perform-action.ts';
import { answerError } from './refusal.ts';
import { sendAway } from './signed-out-page.ts';
import type { UiContext, UiRoute } from './ui-routes.ts';

export interface UiMountDependencies extends PageDependencies {
  credentials: Credentials;
  services: Services;
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
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Vary', 'HX-Request');
    const { route } = match.target;
    if (!user) return sendAway(request, response, route.kind === 'action' ? route.secrets : []);
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
  if (route.kind === 'action') {
    services.instance.requireFeature(route.endpoint);
    services.instance.requireEntitlement(route.endpoint);
  }
  const fragment = caller.request.get('hx-request') === 'true';
  // Before anything is read: what happens from here on reaches the page by its stream.
  const cursor = fragment || scoped.company_id === '' ? 0 : await lastSequence(database.db);
  const context = {
    ...caller,
    ...scoped,
    tx: database.db,
    params: named,
    query: readQuery(caller.request),
    services,
    fragment,
    cursor,
  } as UiContext;
  if (route.kind === 'page') sendPage(caller.response, await deps.texts.finish(await route.render(context)));
  else await performAction(route, context, validate, deps);
}

/** HTML, unless the page has said that it answers something else. */
function sendPage(response: Response, text: string): void {
  if (!response.hasHeader('content-type')) response.type('html');
  response.send(text);
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
