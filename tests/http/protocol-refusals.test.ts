/**
 * Who may call a protocol's endpoint, and how much, is refused as by the API: `{"error": "<message>"}`. What a request may make of
 * itself is bounded, too.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
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

describe('a call of a2a', () => {
  const call = async (method: string, params: object) => {
    const { body } = await request(app)
      .post(`/companies/${cast.company_id}/agents/${cast.agent_id}/a2a`)
      .set(cast.agent.headers)
      .send({ jsonrpc: '2.0', id: 1, method, params });
    return body as { result?: { task: { id: string } }; error?: { code: number } };
  };

  it('with data takes as much room on the issue as in the request, however deeply it is nested', async () => {
    let data: unknown = Array.from({ length: 100_000 }, () => 0);
    for (let level = 0; level < 50; level += 1) data = [data];
    const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ data }] };
    const configuration = { returnImmediately: true, historyLength: 0 };
    const { result } = await call('SendMessage', { message, configuration });
    const [issue] = await database.db
      .select({ body: schema.issues.body_markdown })
      .from(schema.issues)
      .where(eq(schema.issues.id, result!.task.id));
    expect(issue!.body).toBe(`\`\`\`json\n${JSON.stringify(data)}\n\`\`\``);
  });

  it.each(['-1', '0000-01-01T00:00:00Z', '0001-01-01T00:00:00+14:00', '9999-12-31T23:00:00-14:00'])(
    'for tasks since %s, a time that the database has not, is refused',
    async (statusTimestampAfter) => {
      expect((await call('ListTasks', { statusTimestampAfter })).error?.code).toBe(-32_602);
      expect((await call('ListTasks', { statusTimestampAfter: '2026-01-01T00:00:00+02:00' })).error).toBe(
        undefined,
      );
    },
  );
});
