/** Columns of the endpoint table that no current row needs to show: a disabled feature, other protocols' errors, workers. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WorkerActor, endpoint } from '@acp/contract';
import { putFlag, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { conflict, createLogger, loadConfig, newApiKey } from '@acp/kernel';
import { testDatabase, waitFor } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { Type } from 'typebox';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials } from '../../apps/web/src/http/credentials.ts';
import { handle } from '../../apps/web/src/http/handle.ts';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { bearer } from './cast.ts';

const open = { auth: [], role: 'none', scope: { by: 'none' }, tx: 'none', status: 200, doc: '' } as const;
const rows = {
  council: endpoint({
    ...open,
    id: 'test.council',
    method: 'GET',
    path: '/api/test/council',
    feature: 'councils',
    auth: ['user'],
    response: Type.Unknown(),
  }),
  rpc: endpoint({
    ...open,
    id: 'test.rpc',
    method: 'POST',
    path: '/api/test/rpc',
    errors: 'json_rpc',
    body: Type.Object({ id: Type.Unknown(), method: Type.String() }),
    response: Type.Unknown(),
  }),
  stream: endpoint({
    ...open,
    id: 'test.stream',
    method: 'GET',
    path: '/api/test/stream',
    errors: 'sse',
    streams: true,
    query: Type.Object({ late: Type.Optional(Type.Boolean()) }),
    response: null,
  }),
  work: endpoint({
    ...open,
    id: 'test.work',
    method: 'GET',
    path: '/api/test/work',
    auth: ['worker'],
    scope: { by: 'worker' },
    response: Type.Object({ worker_id: Type.String(), company_id: Type.String() }),
  }),
};

const worker: WorkerActor = {
  kind: 'worker',
  worker_id: crypto.randomUUID(),
  name: 'Worker',
  status: 'approved',
  tags: [],
  shared_models: [],
};
const workerKey = newApiKey();
let database: Database;
let app: Express;
let instance: InstanceState;

beforeAll(async () => {
  const kit = await testDatabase();
  ({ database } = kit);
  const logger = createLogger({ level: 'error', format: 'json', role: 'test', stream: process.stdout });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', LOG_LEVEL: 'error' });
  instance = new InstanceState({ database, logger, listener: kit.listener });
  await instance.refresh();
  const credentials = createCredentials({ database, logger });
  app = createApp({
    database,
    logger,
    config,
    services: createServices({ database, config, logger, instance }),
    credentials: {
      ...credentials,
      worker: async (token) => (token === workerKey ? worker : undefined),
    },
    routes: [
      handle(rows.council, () => 'never'),
      handle(rows.rpc, ({ body }) => {
        if (body.method === 'clash') throw conflict('there is one already', { hint: 'x' });
        return {};
      }),
      handle(rows.stream, ({ query, response }) => {
        if (query.late)
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: one\n\n');
        throw conflict('not now');
      }),
      handle(rows.work, ({ subject, company_id }) => ({ worker_id: subject.worker_id, company_id })),
    ],
    validate_responses: true,
  });
});

afterAll(() => instance.close());

const switchCouncils = async (value: boolean) =>
  transaction(database, async (tx) => putFlag(tx, systemActor('test'), 'councils', { value }));

describe('the row of a feature', () => {
  it('is not there while its flag is off, not even to ask who calls; in every process at once', async () => {
    const statusOf = async () => (await request(app).get('/api/test/council')).status;
    expect(await statusOf()).toBe(401);
    await switchCouncils(false);
    await waitFor(async () => (await statusOf()) === 404);
    await switchCouncils(true);
    await waitFor(async () => (await statusOf()) === 401);
  });
});

describe('a row that speaks JSON-RPC', () => {
  const call = (body: string) => request(app).post('/api/test/rpc').type('json').send(body);

  it.each([
    [
      '{"id": 7, "method": "clash"}',
      409,
      { id: 7, code: -32_000, message: 'there is one already', data: { hint: 'x' } },
    ],
    ['{"id": "a", "method": 1}', 400, { id: 'a', code: -32_602, message: 'body.method must be string' }],
    ['{"id": ', 400, { id: null, code: -32_700, message: 'malformed JSON' }],
  ])('%s is answered %d in its words', async (body, status, { id, ...error }) => {
    await call(body).expect(status, { jsonrpc: '2.0', id, error });
  });
});

describe('a row that streams events', () => {
  it('refuses as every row before the stream is open, and by an event afterwards', async () => {
    await request(app).get('/api/test/stream').expect(409, { error: 'not now' });
    const { status, text } = await request(app).get('/api/test/stream?late=true');
    expect([status, text]).toEqual([200, 'event: one\n\nevent: error\ndata: {"error":"not now"}\n\n']);
  });
});

describe('a row of workers', () => {
  it('is told which of them calls, and lets nobody else in', async () => {
    const answer = request(app).get('/api/test/work').set(bearer(workerKey));
    await answer.expect(200, { worker_id: worker.worker_id, company_id: '' });
    await request(app)
      .get('/api/test/work')
      .set(bearer(newApiKey()))
      .expect(401, { error: 'invalid api key' });
  });
});
