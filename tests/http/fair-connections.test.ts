/** One company's requests that wait for each other in the database leave connections to all others. */
import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { createIssue, databaseWithQueue, waitFor } from '@acp/testkit';
import { sql } from 'drizzle-orm';
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
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_A2A_WAIT_SEC: '0' });
  app = createApp({ database, logger, config });
  cast = await createCast(database);
});

const waiting = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ waiting: number }>(
    `select count(*)::int as waiting from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]!.waiting;
};

it.each<[string, (path: string, n: number) => Promise<number>]>([
  [
    'changes of one issue',
    async (path, n) => {
      const sent = request(app)
        .patch(path)
        .set(cast.member.headers)
        .send({ title: `Title ${n}` });
      return (await sent).status;
    },
  ],
  [
    'messages of an A2A client',
    async (_path, n) => {
      const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: `Task ${n}` }] };
      const { status, body } = await request(app)
        .post(`/companies/${cast.company_id}/agents/${cast.agent_id}/a2a`)
        .set(cast.agent.headers)
        .send({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } });
      return (body as { error?: object }).error === undefined ? status : 500;
    },
  ],
])('%s', async (_what, send) => {
  const { id } = await createIssue(database.db, { id: cast.company_id });
  let answered = 0;
  const sent = await transaction(database, async (tx) => {
    await tx.execute(sql`select from companies where id = ${cast.company_id} for update`);
    await tx.execute(sql`select from issues where id = ${id} for update`);
    const all = Array.from({ length: 40 }, async (_, n) => {
      const status = await send(`/api/issues/${id}`, n);
      answered += 1;
      return status;
    });
    await waitFor(async () => (await waiting()) >= 7);
    const other = `/api/agents/${cast.other_agent_id}`;
    expect((await request(app).get(other).set(cast.foreign_agent.headers)).status).toBe(200);
    expect(answered).toBe(0);
    return all;
  });
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]));
});
