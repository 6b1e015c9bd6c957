/** An MCP client whose key another process has just revoked, before the signal of that arrives here. */
import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCast } from './cast.ts';
import { type Answer, rpc } from './mcp-messages.ts';

let database: Database;
let app: Express;

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  app = createApp({ database, logger, config: loadConfig({ RATE_LIMIT_RPM: '0' }) });
});

it.each([
  ['create_agent', { name: 'Left behind' }],
  ['update_agent_defaults', { heartbeat_enabled: true }],
])('can do no more by %s, as by the API', async (tool, args) => {
  const cast = await createCast(database);
  const { key_id, headers } = cast.board_admin;
  const call = async (name: string, given: object) => {
    const message = rpc('tools/call', { name, arguments: given });
    const { body } = await request(app).post(`/mcp/${cast.company_id}`).set(headers).send(message);
    return (body as Answer['body']).result!;
  };
  expect((await call('list_agents', {})).isError).toBeUndefined();
  const { board_user_keys } = schema;
  await database.db.delete(board_user_keys).where(eq(board_user_keys.id, key_id));
  const { isError, content } = await call(tool, args);
  expect([isError, content[0]!.text]).toEqual([true, '{"error":"invalid api key"}']);
});
