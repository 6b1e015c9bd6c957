/**
 * Whatever is sent to any endpoint: never a 5xx (503 would be documented, but nothing is down here except schedulers), and
 * an error is always `{"error": "<message>"}`. Values follow the row's own schemas, so that they reach the statements.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { endpoints, PATH_PARAM, pathParams } from '@acp/contract';
import type { EndpointRow } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { encodeCursor } from '@acp/kernel';
import * as fc from 'fast-check';
import request from 'supertest';
import { arbitraryOf, character, validOf } from './arbitraries.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';
import { awaitingScheduler, createStage, staged } from './stage.ts';
import type { Stage } from './stage.ts';
import { startWholeApp, type WholeApp } from './whole-app.ts';

const RUNS_PER_ROW = Number(process.env.FUZZ_RUNS ?? 12);
const callers = ['instance_admin', 'admin', 'agent', 'board_admin', 'anonymous'] as const;

let database: Database;
let app: WholeApp;

beforeAll(async () => {
  app = await startWholeApp({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  ({ database } = app);
});

afterAll(() => app.close());

/** Requests that change nothing share one cast and stage, whose creation costs more than they do. */
let shared: Promise<{ cast: Cast; stage: Stage }> | undefined;

async function setStage(row?: EndpointRow): Promise<{ cast: Cast; stage: Stage }> {
  const spares = row !== undefined && sparesCast(row);
  const cast = (spares ? spared : undefined) ?? (await createCast(database));
  if (spares) spared = cast;
  return { cast, stage: await createStage(database, cast, row) };
}

/** The cast of all rows that spare it. */
let spared: Cast | undefined;

/** Acts on something of the stage, not on the company, its agents, or whoever calls. */
const sparesCast = ({ scope }: EndpointRow): boolean =>
  !['none', 'self', 'worker', 'company', 'agent', 'agent_key', 'board_user_key'].includes(scope.by);

// Instance-wide state, which the next row and the next test file would see.
afterEach(async () => {
  await database.db.delete(schema.instance_settings);
  await database.db.delete(schema.instance_flags);
  // A company that requires second factors requires them of the instance's admins too.
  await database.db.update(schema.companies).set({ require_second_factor: false });
});

// Made once: making one takes fast-check milliseconds.
const someText = fc.string({ unit: character, minLength: 1, maxLength: 20 });

interface Shot {
  caller: (typeof callers)[number];
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
  headers: Record<string, string>;
}

function shots(row: EndpointRow, cast: Cast, stage: Stage): fc.Arbitrary<Shot> {
  const ids = [...Object.values(stage), cast.other_company_id, cast.other_agent_id].filter(
    (id) => id.length === 36,
  );
  const param = (name: string) =>
    fc.oneof(
      { weight: 6, arbitrary: fc.constant(staged(stage, row, name) ?? '') },
      { weight: 2, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: someText },
    );
  const header = fc.constantFrom<Record<string, string>>(
    {},
    { 'Idempotency-Key': 'the same for all' },
    { 'Idempotency-Key': 'same' },
    { 'Idempotency-Key': 'x'.repeat(300) },
    { 'X-Request-Id': 'a b' },
    { Cookie: 'service_session=; service_key; =;;' },
    { 'Content-Type': 'text/plain' },
    { 'Content-Encoding': 'gzip' },
    { Accept: 'text/html' },
  );
  return fc.record({
    caller: fc.constantFrom(...callers),
    params: fc.record(Object.fromEntries(pathParams(row.path).map((name) => [name, param(name)]))),
    query: validOf({ ...row.query, type: 'object' }, ids) as fc.Arbitrary<Record<string, unknown>>,
    body: arbitraryOf({ type: 'object', ...row.body }, ids),
    headers: header,
  });
}

/** A query contains everything as text, including objects, some of which have no prototype. */
const written = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

async function shoot(row: EndpointRow, cast: Cast, shot: Shot) {
  const path = row.path.replaceAll(PATH_PARAM, (_all, name: string) => encode(shot.params[name] ?? ''));
  const query = Object.entries(shot.query).map(
    ([name, value]) => `${encode(name)}=${encode(written(value))}`,
  );
  const verb = row.method.toLowerCase() as Lowercase<EndpointRow['method']>;
  const sent = request(app.server)[verb](`${path}?${query.join('&')}`);
  sent
    .agent(app.connections)
    .set({ Accept: 'application/json', ...cast[shot.caller].headers, ...shot.headers });
  // A granted stream never ends, so this one is refused before it starts.
  if (row.streams) sent.set('Last-Event-ID', 'nonsense');
  if (row.method === 'GET') return sent;
  if (!shot.headers['Content-Type']) sent.set('Content-Type', 'application/json');
  return sent.send(JSON.stringify(shot.body));
}

/** Schema of `error`: a message, or a JSON-RPC object. */
const errorOf = ({ errors }: EndpointRow): unknown => {
  const text: unknown = expect.any(String);
  return errors === 'json_rpc' ? expect.anything() : text;
};

/** Lone surrogates have no percent-encoding. */
function encode(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

describe.each(endpoints.filter(({ id }) => id !== 'docs.page'))('$id', (row) => {
  it('anybody sends anything: no 5xx, and errors say what is wrong', async () => {
    const { cast, stage } = await (row.method === 'GET' ? (shared ??= setStage()) : setStage(row));
    await fc.assert(
      fc.asyncProperty(shots(row, cast, stage), async (shot) => {
        const { status, body } = await shoot(row, cast, shot);
        const absent = status === 503 && awaitingScheduler.includes(row.id);
        expect({ status, fine: status < 500 || absent }).toEqual({ status, fine: true });
        const error: unknown = status >= 400 ? body : { error: '' };
        expect(error).toEqual(
          expect.objectContaining({
            error: errorOf(row),
          }),
        );
      }),
      { numRuns: RUNS_PER_ROW },
    );
  });
});

/** As many values of as many kinds as the cursors of our lists have, and more than any column holds. */
const forged = [-1, 2 ** 31, 2 ** 53 - 1].flatMap((number) => {
  const [instant, id] = ['0001-01-01T00:00:00+14:00', '3f1f6c1e-0d5c-4c4b-9f43-5a3a8d0b7f11'];
  return [[number], [number, null], [instant, id], [number, instant, id], [String(number), id]].map(
    encodeCursor,
  );
});

const queryOf = ({ query }: EndpointRow) =>
  ({ properties: {}, ...query }).properties as Record<string, { enum?: string[] }>;

const orders = (row: EndpointRow): Record<string, string>[] => {
  const { sort, q } = queryOf(row);
  return [{}, ...(sort?.enum ?? []).map((name) => ({ sort: name })), ...(q ? [{ q: 'a' }] : [])];
};

const lists = endpoints.filter((row) => row.method === 'GET' && 'cursor' in queryOf(row));

it.each(lists)('$id refuses a forged cursor, or finds nothing beyond it, in whatever order', async (row) => {
  const { cast, stage } = await (shared ??= setStage());
  const params = Object.fromEntries(
    pathParams(row.path).map((name) => [name, staged(stage, row, name) ?? '']),
  );
  for (const order of orders(row))
    for (const cursor of forged) {
      const shot: Shot = {
        caller: 'admin',
        params,
        query: { ...order, cursor },
        body: undefined,
        headers: {},
      };
      const { status } = await shoot(row, cast, shot);
      expect({ order, cursor, fine: status < 500 }).toEqual({ order, cursor, fine: true });
    }
});
