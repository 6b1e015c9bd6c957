/**
 * What every endpoint has in common, once (architecture, 'An endpoint is a row of data'): authenticate > scope > role >
 * validate > transaction > handler > commit > send. The row says which of it applies. Limits come before (app.ts).
 */
import { createValidator, pathParams, takesIdempotencyKey } from '@acp/contract';
import type { Actor, EndpointRow, Validator } from '@acp/contract';
import { systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { invalid, isUuid, notFound } from '@acp/kernel';
import type { Request, RequestHandler, Response } from 'express';
import querystring from 'node:querystring';
import { sendJson } from './answer.ts';
import { authenticate } from './auth.ts';
import type { Credentials } from './credentials.ts';
import type { Context, Route } from './handle.ts';
import { idempotencyKey, onlyOnce } from './idempotency.ts';
import type { Answer } from './idempotency.ts';
import { checkText, readJsonBody } from './json-body.ts';
import { responseCheck } from './response-check.ts';
import { requireRole } from './roles.ts';
import { RouteTable } from './route-table.ts';
import { loadScope } from './scope.ts';
import type { Services } from './services.ts';

export interface MountDeps {
  readonly database: Database;
  readonly credentials: Credentials;
  readonly services: Services;
  /** Tests: every answer is checked against its row's schema, a mismatch is a defect (500). */
  readonly validate_responses: boolean;
}

/** A row with all that can be worked out before the first request. */
interface Mounted {
  readonly row: EndpointRow;
  readonly handler: Route['handler'];
  readonly params: readonly { readonly name: string; readonly isId: boolean }[];
  readonly scopeParam: string | undefined;
  readonly query: Validator<unknown> | undefined;
  readonly body: Validator<unknown> | undefined;
  /** Undefined where the body is a free map. */
  readonly bodyFields: ReadonlySet<string> | undefined;
  readonly checkResponse: ((text: string) => void) | undefined;
  readonly idempotent: boolean;
  readonly tokenInQuery: boolean;
}

type Values = Record<string, string>;
type Query = Record<string, unknown>;

const ANONYMOUS: Actor = systemActor('anonymous');
const NO_QUERY: Query = Object.freeze({});

/** All routes as one middleware; what it does not know it passes on. */
export function mount(routes: readonly Route[], deps: MountDeps): RequestHandler {
  const table = new RouteTable<Mounted>();
  for (const route of routes) {
    const mounted = prepare(route, deps.validate_responses);
    table.add(route.row, mounted);
    // A stream has no head to ask for.
    if (route.row.method === 'GET' && !route.row.streams)
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

function prepare({ row, handler }: Route, validateResponses: boolean): Mounted {
  const needsCompany = row.role !== 'none' && row.role !== 'instance_admin';
  if (needsCompany && row.scope.by === 'none') throw new Error(`${row.id}: a company role without a company`);
  if (row.auth.length === 0 && (row.role !== 'none' || row.scope.by !== 'none')) {
    throw new Error(`${row.id}: a public row has neither role nor scope`);
  }
  return {
    row,
    handler,
    params: pathParams(row.path).map((name) => ({ name, isId: /id$/i.test(name) })),
    scopeParam: 'param' in row.scope ? row.scope.param : undefined,
    query: row.query && createValidator(row.query, 'query', true),
    body: row.body && createValidator(row.body, 'body'),
    bodyFields:
      row.body && 'properties' in row.body ? new Set(Object.keys(propertiesOf(row.body))) : undefined,
    checkResponse: validateResponses && row.response !== null ? responseCheck(row) : undefined,
    idempotent: takesIdempotencyKey(row),
    tokenInQuery: row.query !== undefined && 'Authorization' in propertiesOf(row.query),
  };
}

function propertiesOf(schema: object): object {
  return 'properties' in schema && typeof schema.properties === 'object' ? (schema.properties ?? {}) : {};
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
  readParams(mounted, values, call.params);
  const scopeId = mounted.scopeParam === undefined ? '' : (call.params[mounted.scopeParam] ?? '');
  const scoped = await loadScope(deps.database.db, call.actor, row, scopeId);
  call.company_id = scoped.company_id;
  call.subject = scoped.subject;
  requireRole(row, call.actor, scoped.company_id);
  if (mounted.query) call.query = readQuery(query, mounted.query);
  if (mounted.body) call.body = await readBody(mounted.body, call);
  const answer = row.tx === 'write' ? await inTransaction(deps.database, call) : await call.run();
  if (!row.streams) send(response, answer);
}

/** Ids in one spelling; what is none names nothing (decisions 7.11). */
function readParams({ params }: Mounted, values: readonly string[], into: Values): void {
  for (const [index, { name, isId }] of params.entries()) {
    const raw = values[index] ?? '';
    const value = raw.includes('%') ? decodeURIComponent(raw) : raw;
    if (isId ? !isUuid(value) : value.includes('\0')) throw notFound();
    into[name] = isId ? value.toLowerCase() : value;
  }
}

function readQuery(query: Query, validate: Validator<unknown>): unknown {
  for (const value of Object.values(query)) if (typeof value === 'string') checkText(value);
  // The frozen empty one is shared; a validator may fill in defaults.
  const read = validate(query === NO_QUERY ? {} : query);
  for (const value of Object.values(query)) {
    // `1e999` and the like are coerced to what no integer column holds.
    if (typeof value === 'number' && !Number.isSafeInteger(value))
      throw invalid('number out of range in query');
  }
  return read;
}

async function readBody(validate: Validator<unknown>, call: Call): Promise<unknown> {
  const body = await readJsonBody(call.request, call.response);
  if (body !== undefined) return known(validate(body), call.mounted.bodyFields);
  if (!call.mounted.row.body_optional) throw invalid('a JSON body is required');
  return undefined;
}

/** What the row does not name never reaches a command: no field of a table can be set by the way (decisions 7.10). */
function known(body: unknown, fields: ReadonlySet<string> | undefined): unknown {
  if (fields === undefined || typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => fields.has(name)));
}

async function inTransaction(database: Database, call: Call): Promise<Answer> {
  const key = call.mounted.idempotent ? idempotencyKey(call.request) : undefined;
  return transaction(database, async (tx) => {
    call.tx = tx;
    if (key === undefined) return call.run();
    const { actor, body, target } = call;
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

/** One request; what the handler sees of it is `Context`. */
class Call implements Omit<Context<EndpointRow>, 'subject' | 'query' | 'body'> {
  readonly mounted: Mounted;
  readonly services: Services;
  readonly request: Request;
  readonly response: Response;
  readonly params: Values = {};
  actor = ANONYMOUS;
  tx: Tx;
  company_id = '';
  subject: unknown;
  query: unknown = NO_QUERY;
  body: unknown;
  #status: number;

  constructor(mounted: Mounted, deps: MountDeps, request: Request, response: Response) {
    this.mounted = mounted;
    this.services = deps.services;
    this.tx = deps.database.db;
    this.request = request;
    this.response = response;
    this.#status = mounted.row.status;
  }

  get target(): string {
    return this.mounted.row.path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => this.params[name] ?? '');
  }

  nextPage(cursor: string | null): void {
    if (cursor === null) return;
    const parameters = new URLSearchParams(this.request.url.split('?')[1]);
    parameters.set('cursor', cursor);
    this.response.setHeader('X-Next-Cursor', cursor);
    this.response.setHeader('Link', `<${this.target}?${parameters.toString()}>; rel="next"`);
  }

  status(code: number): void {
    const { row } = this.mounted;
    if (code !== row.status && !row.also?.includes(code))
      throw new Error(`${row.id} does not answer ${code}`);
    this.#status = code;
  }

  async run(): Promise<Answer> {
    const { row, handler, checkResponse } = this.mounted;
    const result = await handler(this as Context<EndpointRow>);
    if (row.streams || row.response === null || result === undefined) {
      return { status: this.#status, text: undefined };
    }
    const text = JSON.stringify(result);
    // Before the commit: an answer that we may not give must not have happened.
    checkResponse?.(text);
    return { status: this.#status, text };
  }
}
