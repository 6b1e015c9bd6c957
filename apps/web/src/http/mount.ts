/**
 * What all endpoints have in common (docs/ARCHITECTURE.md, 'A comment, file by file'): authenticate > scope > role >
 * validate > transaction > handler > commit > send. The row decides which of it applies. Rate limits run before (app.ts).
 */
import type { Actor } from '@acp/contract';
import type { Request, RequestHandler } from 'express';
import querystring from 'node:querystring';
import { sendAnswer } from './answer.ts';
import { authenticate, needsFreshCaller } from './auth.ts';
import { Call, type CallDeps } from './call.ts';
import type { Route } from './handle.ts';
import { enterScope } from './enter-scope.ts';
import { perform } from './perform.ts';
import { NO_QUERY, type Query, readParams, readQuery } from './input.ts';
import { type MountedRow, prepareRow } from './mounted-row.ts';
import { noteRefusal, placeOf, type RefusalDeps } from './refusals.ts';
import { RouteTable } from './route-table.ts';
import { withBody } from './with-body.ts';

interface MountDeps extends CallDeps, RefusalDeps {
  /** For tests: checks every answer against its row's schema; a mismatch is a defect (500). */
  readonly validate_responses: boolean;
}

/** All routes as one middleware; passes on whatever it does not know. */
export function mount(routes: readonly Route[], deps: MountDeps): RequestHandler {
  const api = new RouteTable<MountedRow>();
  // Paths that are also pages, with other methods of their own.
  const besidePages = new RouteTable<MountedRow>();
  for (const route of routes) {
    const table = route.row.negotiated ? besidePages : api;
    const mounted = prepareRow(route, deps.validate_responses);
    table.add(route.row, mounted);
    if (route.row.method === 'GET') table.add({ ...route.row, method: 'HEAD' }, mounted);
  }
  return async (request, response, next) => {
    const url = request.url;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const match =
      api.find(request.method, path) ??
      (wantsJson(request) ? besidePages.find(request.method, path) : undefined);
    if (match === undefined) return next();
    const query = mark === -1 ? NO_QUERY : querystring.parse(url.slice(mark + 1));
    const mounted = match.target;
    response.locals.errors = mounted.row.errors;
    response.locals.operation = mounted.row.id;
    response.locals.streams = mounted.row.streams === true || mounted.row.streams === 'events';
    deps.services.instance.requireFeature(mounted.row);
    const call = new Call(mounted, deps, request, response);
    try {
      await serve(call, match.values, query, deps);
    } catch (error) {
      noteRefusal(error, call, deps);
      response.locals.actor = call.actor;
      throw error;
    }
  };
}

/** False for clients that accept anything: browsers and the like get the page. */
const wantsJson = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && request.accepts(['html', 'json']) === 'json';

async function serve(call: Call, values: readonly string[], query: Query, deps: MountDeps): Promise<void> {
  const { mounted, request, response } = call;
  const { row } = mounted;
  const query_token =
    mounted.tokenInQuery && typeof query.Authorization === 'string' ? query.Authorization : undefined;
  const place = () => placeOf(request, deps);
  const identify = async (fresh: boolean) =>
    authenticate(deps.credentials, request, row, { place, query_token, fresh });
  if (row.auth.length > 0) {
    call.actor = await identify(false);
    response.setHeader('Cache-Control', 'no-store');
  }
  call.params = readParams(mounted, values);
  await enterScope(call, deps);
  const isWhole = request.complete;
  call.query = readQuery(mounted, query);
  const answer = await withBody(call, async () => {
    const confirm = async (isCurrent: boolean) => {
      if (row.auth.length > 0 && row.method !== 'GET') await confirmCall(call, identify, isCurrent, deps);
    };
    await confirm(isWhole);
    return perform(deps.database, call, async () => confirm(false));
  });
  call.announceNextPage();
  if (!row.streams) sendAnswer(response, answer);
}

/**
 * A body may take minutes to arrive: in the meantime its sender may have lost the rights, and what it is about may have changed, or be
 * gone. Costs nothing as long as the caller is cached, which a change of any kind ends, and the body comes with the head.
 * @param isCurrent whether nothing of the request was outstanding once its subject was read, nor did it wait for others since
 */
async function confirmCall(
  call: Call,
  identify: (fresh: boolean) => Promise<Actor>,
  isCurrent: boolean,
  deps: MountDeps,
): Promise<void> {
  const now = await identify(needsFreshCaller(call.mounted.row));
  if (now === call.actor && isCurrent) return;
  call.actor = now;
  await enterScope(call, deps);
}
