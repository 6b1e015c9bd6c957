/** Who may call a protocol's endpoint, and how much, is refused as by the API: `{"error": "<message>"}`. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

let database: Database;
let app: Express;
let cast: Cast;

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  app = createApp({
    database,
    logger,
    config: loadConfig({ RATE_LIMIT_RPM: '0' }),
    validate_responses: true,
  });
  cast = await createCast(database);
});

describe.each([
  ['mcp', () => `/mcp/${cast.company_id}`, 'ping'],
  ['a2a', () => `/companies/${cast.company_id}/agents/${cast.agent_id}/a2a`, 'tasks/get'],
])('a call of %s', (_protocol, path, method) => {
  it.each([
    ['that is too long', () => cast.agent.headers, 'x'.repeat(1_100_000), 413, 'payload too large'],
    [
      'with an unknown key',
      () => ({ Authorization: `Bearer sk_${'0'.repeat(64)}` }),
      'x',
      401,
      'invalid api key',
    ],
    ['from another company', () => cast.foreign_agent.headers, 'x', 404, 'not found'],
  ] as const)('%s', async (_what, headers, id, status, error) => {
    const call = { jsonrpc: '2.0', id: 1, method, params: { id } };
    const answer = await request(app)
      .post(path())
      .set({ Accept: 'text/html', ...headers() })
      .send(call);
    expect([answer.status, answer.body]).toEqual([status, { error }]);
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
  });
});
