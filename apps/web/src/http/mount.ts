/**
 * What every endpoint has in common, once (architecture, 'An endpoint is a row of data'): authenticate > scope > role >
 * validate > transaction > handler > commit > send. The row says which of it applies. Limits come before (app.ts).
 */
import { transaction } from '@acp/db';
import type { Database } from '@acp/db';
import type { RequestHandler, Response } from 'express';
import querystring from 'node:querystring';
import { sendJson } from './answer.ts';
import { authenticate } from './auth.ts';
import { Call } from './call.ts';
import type { CallDeps } from './call.ts';
import type { Credentials } from './credentials.ts';
import type { Route } from './handle.ts';
import { idempotencyKey, onlyOnce } from './idempotency.ts';
import type { Answer } from './idempotency.ts';
import { NO_QUERY, readParams, readQuery } from './input.ts';
import type { Query } from './input.ts';
import { prepareRow } from './mounted-row.ts';
import type { MountedRow } from './mounted-row.ts';
import { requireRole } from './roles.ts';
import { RouteTable } from './route-table.ts';
import { loadScope } from './scope.ts';
import { withBody } from './with-body.ts';

export interface MountDeps extends CallDeps {
  readonly credentials: Credentials;
  /** Tests: every answer is checked against its row's schema, a mismatch is a defect (500). */
  readonly validate_responses: boolean;
}

/** All routes as one middleware; what it does not know it passes on. */
export function mount(routes: readonly Route[], deps: MountDeps): RequestHandler {
  const table = new RouteTable<MountedRow>();
  for (const route of routes) {
    const mounted = prepareRow(route, deps.validate_responses);
    table.add(route.row, mounted);
    // A stream has no head to ask for; bytes have.
    if (route.row.method === 'GET' && route.row.streams !== true)
      table.add({ ...route.row, method: 'HEAD' }, mounted);
  }
  return async (request, response, next) => {
    const url = request.url;
    const mark = url.indexOf('?');
    const match = table.find(request.method, mark === -1 ? url : url.slice(0, mark));
    if (match === undefined) return next();
    const query = mark === -1 ? NO_QUERY : querystring.parse(url.slice(mark + 1));
    const mounted = match.target;
    await serve(new Call(mounted, deps, request, response), match.values, query, deps);
  };
}

async function serve(call: Call, values: readonly string[], query: Query, deps: MountDeps): Promise<void> {
  const { mounted, request, response } = call;
  const { row } = mounted;
  if (row.auth.length > 0) {
    const token =
      mounted.tokenInQuery && typeof query.Authorization === 'string' ? query.Authorization : undefined;
    call.actor = await authenticate(deps.credentials, request, row, token);
    response.setHeader('Cache-Control', 'no-store');
  }
  call.params = readParams(mounted, values);
  const scopeId = mounted.scopeParam === undefined ? '' : (call.params[mounted.scopeParam] ?? '');
  const scoped = await loadScope(deps.database.db, call.actor, row, scopeId);
  call.company_id = scoped.company_id;
  call.subject = scoped.subject;
  requireRole(row, call.actor, scoped.company_id);
  call.query = readQuery(mounted, query);
  const answer = await withBody(call, async () => act(call, deps));
  if (!row.streams) send(response, answer);
}

async function act(call: Call, deps: MountDeps): Promise<Answer> {
  await call.prepare();
  return call.mounted.row.tx === 'write' ? inTransaction(deps.database, call) : call.run();
}

async function inTransaction(database: Database, call: Call): Promise<Answer> {
  // Not with files (decisions 8.5): the key would have to stand for their bytes.
  const key = call.mounted.idempotent && call.files === undefined ? idempotencyKey(call.request) : undefined;
  return transaction(database, async (tx) => {
    call.tx = tx;
    if (key === undefined) return call.run();
    const { actor, comparableBody: body, target } = call;
    return onlyOnce(tx, { row: call.mounted.row, actor, key, target, body }, async () => call.run());
  });
}

function send(response: Response, answer: Answer): void {
  if (answer.replayed) response.setHeader('Idempotency-Replayed', 'true');
  if (answer.text === undefined) {
    response.statusCode = answer.status;
    response.end();
  } else {
    sendJson(response, answer.status, answer.text);
  }
}
