/**
 * Every endpoint × every kind of caller, generated from the endpoint table: the row's credentials, role and tenant are
 * enforced. Callers who are let through send the row's example, and get the row's status.
 * @in-order an authenticator app is begun before it is confirmed
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { a2aEndpoints, EXAMPLE_ID, endpoints, exampleBody, mcpEndpoints, permits } from '@acp/contract';
import type { AuthKind, CompanyRole, EndpointRow } from '@acp/contract';
import type { Database } from '@acp/db';
import request from 'supertest';
import { apiRoutes } from '../../apps/web/src/api/index.ts';
import { liveRoutes } from '../../apps/web/src/live/routes.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';
import { awaitingScheduler, createStage, pathOn } from './stage.ts';
import type { Stage } from './stage.ts';
import { startWholeApp, type WholeApp } from './whole-app.ts';

interface Part {
  who: Exclude<keyof Cast, `${string}_id`>;
  kind: AuthKind | 'nobody';
  /** Role in the company that the paths name. */
  role: CompanyRole | 'stranger';
  instance_admin?: true;
}

const parts: readonly Part[] = [
  { who: 'anonymous', kind: 'nobody', role: 'stranger' },
  { who: 'worker', kind: 'worker', role: 'stranger' },
  { who: 'stranger', kind: 'user', role: 'stranger' },
  { who: 'foreign_agent', kind: 'agent', role: 'stranger' },
  { who: 'foreign_board', kind: 'board_user', role: 'stranger' },
  { who: 'viewer', kind: 'user', role: 'viewer' },
  { who: 'member', kind: 'user', role: 'member' },
  { who: 'admin', kind: 'user', role: 'admin' },
  { who: 'instance_admin', kind: 'user', role: 'admin', instance_admin: true },
  { who: 'agent', kind: 'agent', role: 'member' },
  { who: 'board_viewer', kind: 'board_user', role: 'viewer' },
  { who: 'board_member', kind: 'board_user', role: 'member' },
  { who: 'board_admin', kind: 'board_user', role: 'admin' },
];

const ranks = { viewer: 0, member: 1, admin: 2 } as const;

/** The refusal that the row demands for the caller; null if it is let through. */
function refusalOf(row: EndpointRow, part: Part): number | null {
  if (row.auth.length === 0) return null;
  if (!row.auth.some((kind) => kind === part.kind)) return 401;
  const { scope } = row;
  if (!['none', 'self', 'worker'].includes(scope.by) && part.role === 'stranger') {
    return 'absent' in scope && scope.absent === 'forbidden' ? 403 : 404;
  }
  if (row.role === 'instance_admin') return part.instance_admin ? null : 403;
  if (row.role !== 'none' && part.role !== 'stranger' && ranks[part.role] < ranks[row.role]) return 403;
  if (part.kind === 'agent' && row.people_only) return 403;
  if (part.kind === 'agent' && row.permission && !permits({}, row.permission)) return 403;
  return null;
}

/**
 * Ends or alters what the cast consists of, for later rows, or counts what stages create. What else a row deletes is of the
 * stage, which each caller gets anew.
 */
const changesCast = ({ id, method, path }: EndpointRow): boolean =>
  (method !== 'GET' && path.includes('{userId}')) ||
  [
    'agents.delete',
    'agents.delete-key',
    'board-user-keys.delete',
    'companies.add-member',
    'companies.add-user',
    'companies.delete',
    'identity.cancel-email-change',
    'join-requests.resolve',
    // The company's only one, which stages share.
    'plugins.delete',
    'second-factors.remove-totp',
    'sessions.end',
    'sessions.end-others',
    'webhooks.create',
    'mcp-servers.create',
    'channels.create',
    'peers.create',
  ].includes(id);

/**
 * For an act that needs a new stage each time: the least privileged of each kind of caller, and the instance's admin.
 * Callers with more rights are refused nowhere that these are not.
 */
const isFirst =
  ({ method }: EndpointRow) =>
  (part: Part, place: number, all: readonly Part[]): boolean =>
    method === 'GET' ||
    part.who === 'instance_admin' ||
    all.findIndex(({ kind }) => kind === part.kind) === place;

/** Adds to the stage or updates it in place: the next caller can do the same. */
const leavesStage = ({ id, method }: EndpointRow): boolean =>
  method === 'PATCH' || method === 'PUT' || (id.endsWith('.create') && id !== 'relations.create');

/** Statuses other than the row's, for callers that are let through. */
const otherwise: Record<string, number | ((part: Part) => number | undefined)> = {
  // Staged files have no bytes, a staged label is on no issue, and no one on stage has second factors.
  'agent-files.download': 404,
  'attachments.download': 404,
  'chats.file': 404,
  'logo.image': 404,
  'issues.remove-label': 404,
  'sessions.end': 404,
  'second-factors.remove-passkey': 404,
  'second-factors.remove-totp': 404,
  'second-factors.renew-recovery-codes': 409,
  'second-factors.add-passkey': 403,
  'second-factors.confirm-totp': 403,
  'identity.change-password': 403,
  // Mail is not configured, and the examples contain no valid token.
  'identity.resend-confirmation': 409,
  'identity.cancel-email-change': 404,
  'identity.confirm-email': 404,
  'identity.request-password-reset': 409,
  'identity.complete-password-reset': 404,
  // Sending files is covered by the upload tests.
  'agent-files.upload': 400,
  'attachments.create': 400,
  'logo.put': 400,
  // No scheduler is running, no vendor is configured, and no stream may be opened.
  ...Object.fromEntries(awaitingScheduler.map((id) => [id, 503])),
  'license.install': 400,
  'alerts.test': 409,
  'live.stream': 400,
  'chats.stream': 400,
  'chats.follow': 400,
  // An agent cannot chat with itself, and the staged message belongs to no one.
  // The example of the import creates a company.
  'portability.import': ({ who }) => (who === 'instance_admin' ? undefined : 403),
  'chats.create': ({ kind }) => (kind === 'agent' ? 409 : undefined),
  'chats.resend': ({ kind }) => (kind === 'board_user' ? undefined : 403),
  // Requires that the caller is a member of the company and, for the others, is paired.
  'channels.pair': ({ who }) => (['admin', 'member', 'viewer'].includes(who) ? undefined : 404),
  'channels.notify': ({ who }) => (['admin', 'viewer'].includes(who) ? undefined : 404),
  'channels.unpair': ({ who }) => (['admin', 'viewer'].includes(who) ? undefined : 404),
  'channels.test': ({ who }) => (who === 'admin' ? undefined : 409),
  // The agents, the issue and the approval of their examples do not exist.
  'councils.convene': 404,
  'issues.change': 400,
  'approvals.decide': 400,
  // Nothing is being compiled.
  'compiled-index.compile': 409,
  'compiled-index.cancel': 409,
  // The staged agents have not finished anything yet.
  'evolutions.evolve': 409,
  // Entities of others, in their own state (specification, Issue checkout).
  'issues.checkout': ({ kind }) => (kind === 'agent' ? undefined : 403),
  'issues.release': 403,
  'approvals.resubmit': 403,
  'comments.update': ({ kind, role }) => (kind !== 'agent' && role === 'admin' ? undefined : 403),
  'review-comments.delete': ({ role }) => (role === 'admin' ? undefined : 403),
  'comments.delete': ({ kind, role }) => (kind !== 'agent' && role === 'admin' ? undefined : 403),
  // Allowed for its agent only.
  'a2a.call': ({ kind }) => (kind === 'agent' ? undefined : 404),
  'runs.trigger-issue': 400,
  'workers.claim': 204,
  'admin-workers.approve': 409,
  'admin-workers.reject': 409,
  'admin-workers.enable': 409,
  'admin-workers.undrain': 409,
  'routine-triggers.rotate-secret': 409,
  // The staged plugin provides nothing. Its approval is refused by the handlers, which record the attempt.
  'plugins.deliver-webhook': 404,
  'plugins.invoke-tool': 404,
  'plugins.invoke-own-tool': 404,
  'plugins.allow': ({ role }) => (role === 'admin' ? 503 : 403),
  'plugins.ban': ({ role }) => (role === 'admin' ? undefined : 403),
  'plugins.rescind-ban': ({ role }) => (role === 'admin' ? undefined : 403),
  // The staged request is the stranger's.
  'join-requests.create': ({ who }) => (who === 'stranger' ? 200 : undefined),
};

/** Mounted by the application itself, in addition to all the others. */
const protocolRoutes = [mcpEndpoints.call, ...Object.values(a2aEndpoints)].map((row) => ({ row }));

let database: Database;
let app: WholeApp;
let cast: Cast;
let stage: Stage;

beforeAll(async () => {
  app = await startWholeApp({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  ({ database } = app);
  cast = await createCast(database);
  stage = await createStage(database, cast);
});

afterAll(() => app.close());

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

async function send(
  method: EndpointRow['method'],
  path: string,
  headers: Record<string, string>,
  body?: unknown,
) {
  const verb = method.toLowerCase() as Lowercase<EndpointRow['method']>;
  const sent = request(app.server)[verb](path);
  sent.agent(app.connections).set(headers).set('Accept', 'application/json');
  // Turns a request that would open a stream into an ordinary 400 that ends.
  sent.set('Last-Event-ID', 'nonsense');
  return body === undefined ? sent : sent.send(body as object);
}

let sent_bodies = 0;

/** The row's example with ids of the stage, and with names that are not taken yet. */
function bodyOn(things: Stage, on: Cast, row: EndpointRow, part: Part): unknown {
  const example = exampleBody(row);
  if (typeof example !== 'object' || example === null) return example;
  sent_bodies += 1;
  const ids: Record<string, string | undefined> = {
    company_id: part.who === 'stranger' ? on.company_id : on.other_company_id,
    user_id: on.stranger.user_id,
    agent_id: things.agentId,
    issue_id: things.issueId,
    target_issue_id: stage.issueId,
  };
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [
      name,
      value === EXAMPLE_ID ? ids[name] : fresh(name, value),
    ]),
  );
}

/** Makes names unique. */
function fresh(name: string, value: unknown): unknown {
  if (name === 'slug') return `${String(value)}-${sent_bodies}`;
  if (name === 'email') return String(value).replace('@', `.${sent_bodies}@`);
  if (name === 'name')
    return /^([A-Z_]+|[a-z]+)$/.test(String(value))
      ? `${String(value)}_${sent_bodies}`
      : `${String(value)} ${sent_bodies}`;
  return value;
}

it('each row has a handler, and each handler is a row of the table', () => {
  const mounted = [...apiRoutes, ...liveRoutes(app.hub), ...protocolRoutes].map(({ row }) => row.id);
  expect(mounted.toSorted()).toEqual(endpoints.map(({ id }) => id).toSorted());
});

describe.each(endpoints.filter(({ auth }) => auth.length > 0))('$id', (row) => {
  const refused = parts.filter((part) => refusalOf(row, part) !== null);
  const admitted = parts.filter((part) => refusalOf(row, part) === null).filter(isFirst(row));

  it.each(refused)('$who: refused', async (part) => {
    const answer = await send(row.method, pathOn(stage, row), cast[part.who].headers);
    expect(answer.status).toBe(refusalOf(row, part));
    expect(answer.body).toEqual({ error: expect.any(String) });
  });

  let shared: Stage | undefined;
  it.each(admitted)('$who: let through', async (part) => {
    // A request's effects must not affect the next caller's.
    const own = changesCast(row) ? await createCast(database) : cast;
    if (row.method === 'GET') shared = stage;
    else if (own !== cast || shared === undefined || !leavesStage(row))
      shared = await createStage(database, own, row);
    const things = shared;
    const sent = bodyOn(things, own, row, part);
    const path = pathOn(things, row);
    const { status, body } = await send(row.method, path, own[part.who].headers, sent);
    const other = otherwise[row.id];
    const expected = (typeof other === 'function' ? other(part) : other) ?? row.status;
    expect({ status, body }).toEqual({ status: expected, body });
  });
});

const inAnotherCompany = endpoints.filter(
  ({ path, scope }) => 'param' in scope && scope.by !== 'company' && path.includes('{companyId}'),
);

it.each(inAnotherCompany)('$id: another company in the path is 404, whatever the role', async (row) => {
  const elsewhere = { ...stage, companyId: cast.other_company_id };
  for (const who of ['viewer', 'member', 'agent', 'instance_admin'] as const) {
    const { status } = await send(row.method, pathOn(elsewhere, row), cast[who].headers);
    const { kind } = parts.find((part) => part.who === who)!;
    expect([who, status]).toEqual([who, row.auth.some((known) => known === kind) ? 404 : 401]);
  }
});

// A path that is also a page accepts the methods of its forms.
const pathsOfTheApi = new Set(endpoints.filter((row) => !row.negotiated).map(({ path }) => path));

describe.each([...pathsOfTheApi])('%s', (path) => {
  const known = endpoints.filter((row) => row.path === path).map(({ method }) => method);
  const unknown = methods.filter((method) => !known.includes(method));

  it.each(unknown)('anybody sends %s: 405 with Allow', async (method) => {
    for (const who of ['anonymous', 'admin'] as const) {
      const { status, headers, body } = await send(
        method,
        pathOn(stage, { path, scope: { by: 'none' } }),
        cast[who].headers,
      );
      expect({ status, body }).toEqual({ status: 405, body: { error: 'method not allowed' } });
      expect(headers.allow?.split(', ')).toEqual(expect.arrayContaining(known));
    }
  });
});
