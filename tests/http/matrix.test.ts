/**
 * Every endpoint × every kind of caller, generated from the endpoint table: what the row says of credentials, role and
 * tenant is what happens. Rows that admit the caller are only asked for not refusing: their slices test the rest.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endpoints, permits } from '@acp/contract';
import type { AuthKind, CompanyRole, EndpointRow } from '@acp/contract';
import type { Database } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { apiRoutes } from '../../apps/web/src/api/index.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { docsRoutes } from '../../apps/web/src/http/docs.ts';
import { LiveHub } from '../../apps/web/src/live/hub.ts';
import { liveRoutes } from '../../apps/web/src/live/routes.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';
import { awaitingScheduler, createStage, pathOn } from './stage.ts';
import type { Stage } from './stage.ts';

interface Part {
  who: Exclude<keyof Cast, `${string}_id`>;
  kind: AuthKind | 'nobody';
  /** In the company that the paths name. */
  role: CompanyRole | 'stranger';
  instance_admin?: true;
}

const parts: readonly Part[] = [
  { who: 'anonymous', kind: 'nobody', role: 'stranger' },
  { who: 'worker', kind: 'nobody', role: 'stranger' },
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

/** The refusal that the row demands for the caller; null where it is let through. */
function refusalOf(row: EndpointRow, part: Part): number | null {
  if (row.auth.length === 0) return null;
  if (!row.auth.some((kind) => kind === part.kind)) return 401;
  const { scope } = row;
  if (scope.by !== 'none' && scope.by !== 'self' && part.role === 'stranger') {
    return 'absent' in scope && scope.absent === 'forbidden' ? 403 : 404;
  }
  if (row.role === 'instance_admin') return part.instance_admin ? null : 403;
  if (row.role !== 'none' && part.role !== 'stranger' && ranks[part.role] < ranks[row.role]) return 403;
  if (part.kind === 'agent' && row.people_only) return 403;
  if (part.kind === 'agent' && row.permission && !permits({}, row.permission)) return 403;
  return null;
}

/** 403 by the handler itself, where the row lets the caller through (specification, Issue checkout). */
const refusedByHandler: Record<string, (part: Part) => boolean> = {
  'issues.checkout': ({ kind }) => kind !== 'agent',
  'issues.release': () => true,
  'approvals.resubmit': () => true,
};

/** A label that is not on the issue can't be taken off; the bytes of staged files are nowhere, nor are second factors. */
const absentOnStage = [
  'sessions.end',
  'second-factors.remove-passkey',
  'second-factors.remove-totp',
  'issues.remove-label',
  'attachments.download',
  'agent-files.download',
  'logo.image',
];

/** Acts on a user of the cast, who would be signed out for the rows after it. */
const endsSessions = ['second-factors.reset'];

let database: Database;
let app: Express;
let hub: LiveHub;
let cast: Cast;
let stage: Stage;

beforeAll(async () => {
  const { listener } = await testDatabase();
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  hub = new LiveHub({ database, listener, logger });
  app = createApp({
    database,
    logger,
    config: loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: '7'.repeat(64) }),
    routes: [...apiRoutes, ...liveRoutes(hub)],
    validate_responses: true,
  });
  cast = await createCast(database);
  stage = await createStage(database, cast);
});

afterAll(() => hub.close());

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

async function send(method: EndpointRow['method'], path: string, headers: Record<string, string>) {
  const verb = method.toLowerCase() as Lowercase<EndpointRow['method']>;
  const sent = request(app)[verb](path).set(headers).set('Accept', 'application/json');
  // Where a stream would be granted, this makes it an ordinary 400 that ends.
  return sent.set('Last-Event-ID', 'nonsense');
}

it('each row has a handler, and each handler is a row of the table', () => {
  const mounted = [...apiRoutes, ...liveRoutes(hub), ...docsRoutes()].map(({ row }) => row.id);
  expect(mounted.toSorted()).toEqual(endpoints.map(({ id }) => id).toSorted());
});

describe.each(endpoints.filter(({ auth }) => auth.length > 0))('$id', (row) => {
  const refused = parts.filter((part) => refusalOf(row, part) !== null);
  const admitted = parts.filter((part) => refusalOf(row, part) === null);

  it.each(refused)('$who: refused', async (part) => {
    const answer = await send(row.method, pathOn(stage, row), cast[part.who].headers);
    expect(answer.status).toBe(refusalOf(row, part));
    expect(answer.body).toEqual({ error: expect.any(String) });
  });

  it.each(admitted)('$who: let through', async (part) => {
    // What a request does must not stand in the way of the next caller's.
    const own = row.method === 'DELETE' || endsSessions.includes(row.id) ? await createCast(database) : cast;
    const path = pathOn(row.method === 'GET' ? stage : await createStage(database, own), row);
    const { status, body } = await send(row.method, path, own[part.who].headers);
    const expected = refusedByHandler[row.id]?.(part) ? [403] : [200, 201, 204, 400, 409];
    if (absentOnStage.includes(row.id)) expected.push(404);
    if (awaitingScheduler.includes(row.id)) expected.push(503);
    expect({ status, body, expected: expected.includes(status) }).toEqual({ status, body, expected: true });
  });
});

const inAnotherCompany = endpoints.filter(
  ({ path, scope }) => 'param' in scope && scope.by !== 'company' && path.includes('{companyId}'),
);

it.each(inAnotherCompany)('$id: another company in the path is 404, whatever the role', async (row) => {
  const elsewhere = { ...stage, companyId: cast.other_company_id };
  for (const who of ['viewer', 'member', 'agent', 'instance_admin'] as const) {
    const { status } = await send(row.method, pathOn(elsewhere, row), cast[who].headers);
    expect([who, status]).toEqual([who, 404]);
  }
});

// A path that is a page's too takes the methods of its forms.
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
