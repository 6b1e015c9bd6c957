import type { UserActor } from '@acp/contract';
import { lastSequence } from '@acp/core';
import type { Database } from '@acp/db';
import { unauthenticated } from '@acp/kernel';
import type { Request, Response } from 'express';
import { needsFreshCaller, sessionUser } from '../../http/auth.ts';
import type { Credentials } from '../../http/credentials.ts';
import { readParams } from '../../http/input.ts';
import type { MountedRow } from '../../http/mounted-row.ts';
import { requireRole } from '../../http/roles.ts';
import { loadScope } from '../../http/scope.ts';
import type { Services } from '../../http/services.ts';
import type { UiContext, UiRoute } from './ui-routes.ts';

export interface MountedRoute {
  readonly route: UiRoute;
  readonly params: MountedRow['params'];
}

interface Caller {
  user: UserActor;
  request: Request;
  response: Response;
}

/** The subject of a page or an action, for a user who may see it. Throws 403 and 404 like the API. */
export async function contextOf(
  mounted: MountedRoute,
  values: readonly string[],
  caller: Caller,
  { database: { db: tx }, services }: { database: Database; services: Services },
): Promise<UiContext> {
  const { route } = mounted;
  const { user, request } = caller;
  const params = readParams(mounted, values);
  const id = 'param' in route.scope ? (params[route.scope.param] ?? '') : '';
  const scoped = await loadScope(tx, user, route, id);
  requireRole(route.kind === 'page' ? route : route.endpoint, user, scoped.company_id);
  if (route.kind === 'action') {
    services.instance.requireFeature(route.endpoint);
    services.instance.requireEntitlement(route.endpoint);
  }
  const fragment = request.get('hx-request') === 'true';
  // Read first: anything that happens from here on reaches the page by its stream.
  const cursor = fragment || scoped.company_id === '' ? 0 : await lastSequence(tx);
  return {
    ...caller,
    ...scoped,
    tx,
    params,
    query: readQuery(request),
    services,
    fragment,
    cursor,
  } as UiContext;
}

/**
 * The same at the end of a form, which may take minutes to arrive: in the meantime its sender may have lost the rights, and its subject
 * may have changed.
 * @param shown.isCurrent whether nothing of the form was outstanding once the context was read, nor did it wait for others since
 * @throws unauthenticated without a session by now
 */
export async function confirmContext(
  mounted: MountedRoute,
  values: readonly string[],
  { context, isCurrent }: { context: UiContext; isCurrent: boolean },
  deps: { credentials: Credentials; database: Database; services: Services },
): Promise<UiContext> {
  const { user, request, response } = context;
  const { route } = mounted;
  const fresh = route.kind === 'action' && needsFreshCaller(route.endpoint);
  const now = await sessionUser(deps.credentials, request, fresh);
  if (now === undefined) throw unauthenticated();
  return now === user && isCurrent
    ? context
    : contextOf(mounted, values, { user: now, request, response }, deps);
}

const readQuery = (request: Request): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.query).map(([name, value]) => [name, typeof value === 'string' ? value : '']),
  );
