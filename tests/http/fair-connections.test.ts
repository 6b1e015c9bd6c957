/** Requests that wait for each other in the database leave connections to all others. */
import { beforeAll, expect, it } from '@jest/globals';
import { createRepositoryWebhook, systemActor } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { createLogger, loadConfig, newId, Vault } from '@acp/kernel';
import { createIssue, databaseWithQueue, waitFor, waitingForLocks } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

const KEY = Buffer.alloc(32, 1);

let database: Database;
let app: Express;
let cast: Cast;

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const config = loadConfig({
    RATE_LIMIT_RPM: '0',
    SERVICE_A2A_WAIT_SEC: '0',
    SERVICE_ENCRYPTION_KEY: KEY.toString('hex'),
  });
  app = createApp({ database, logger, config });
  cast = await createCast(database);
});

interface Case {
  /** What the requests wait for; by default the company and the issue. */
  table?: string;
  stage?: () => Promise<string>;
  send: (of: string, n: number) => Promise<number>;
}

const a2a = async (method: string, params: object): Promise<{ status: number; task: string }> => {
  const { status, body } = await request(app)
    .post(`/companies/${cast.company_id}/agents/${cast.agent_id}/a2a`)
    .set(cast.agent.headers)
    .send({ jsonrpc: '2.0', id: 1, method, params });
  const { error, result } = body as { error?: object; result?: { task?: { id: string } } };
  return { status: error === undefined ? status : 500, task: result?.task?.id ?? '' };
};
const message = (text: string) => ({ message: { messageId: newId(), role: 'ROLE_USER', parts: [{ text }] } });
const task = async () => (await a2a('SendMessage', message('A task'))).task;

const cases: Record<string, Case> = {
  'changes of one issue': {
    send: async (of, n) =>
      (
        await request(app)
          .patch(`/api/issues/${of}`)
          .set(cast.member.headers)
          .send({ title: `Title ${n}` })
      ).status,
  },
  'messages of an A2A client': {
    send: async (_of, n) => (await a2a('SendMessage', message(`Task ${n}`))).status,
  },
  'cancellations of an A2A client': {
    table: 'issues',
    stage: task,
    send: async (id) => (await a2a('CancelTask', { id })).status,
  },
  'push configurations of an A2A client': {
    table: 'webhooks',
    stage: task,
    send: async (taskId) =>
      (await a2a('CreateTaskPushNotificationConfig', { taskId, id: 'one', url: 'https://client.example/' }))
        .status,
  },
  'skills of an agent': {
    table: 'agent_files',
    send: async (_of, n) =>
      (
        await request(app)
          .put(`/api/agents/${cast.agent_id}/fs-skills/skill-${n}`)
          .set(cast.admin.headers)
          .send({ content: '---\nname: knots\ndescription: Ties.\n---\nTie a bowline.' })
      ).status,
  },
  'events of a repository': {
    table: 'repository_webhooks',
    stage: async () => {
      const [project] = await database.db
        .insert(schema.projects)
        .values({ company_id: cast.company_id, name: 'Shop', repo_url: 'https://host.example/shop.git' })
        .returning();
      const hook = await transaction(database, async (tx) =>
        createRepositoryWebhook(tx, systemActor('tests'), project!, new Vault(KEY)),
      );
      return `${hook.public_id} ${hook.secret}`;
    },
    send: async (of) => {
      const [id = '', secret = ''] = of.split(' ');
      return (
        await request(app).post(`/api/repository-webhooks/${id}`).set('X-Gitlab-Token', secret).send({})
      ).status;
    },
  },
  'events of a worker': {
    table: 'heartbeat_runs',
    stage: async () => {
      const now = new Date();
      const { company_id, agent_id, worker } = cast;
      const handed_over = { status: 'running', started_at: now, handed_over_at: now };
      const [run] = await database.db
        .insert(schema.heartbeat_runs)
        .values({ company_id, agent_id, wake_reason: 'manual', adapter_type: 'remote', ...handed_over })
        .returning();
      const claim = { status: 'claimed', worker_id: worker.worker_id, claimed_at: now };
      const deadline = new Date(Date.now() + 600_000);
      const [claimed] = await database.db
        .insert(schema.remote_tasks)
        .values({ heartbeat_run_id: run!.id, company_id, agent_id, payload: {}, deadline, ...claim })
        .returning();
      return claimed!.id;
    },
    send: async (id, n) => {
      const events = [{ kind: 'log', payload: { message: `Line ${n}` } }];
      const path = `/api/workers/tasks/${id}/events`;
      const { status } = await request(app).post(path).set(cast.worker.headers).send({ events });
      return status === 204 ? 200 : status;
    },
  },
};

/** By the other company. */
const read = async () =>
  (await request(app).get(`/api/agents/${cast.other_agent_id}`).set(cast.foreign_agent.headers)).status;
const change = async (company: string, n: number) =>
  (
    await request(app)
      .patch(`/api/companies/${company}`)
      .set((company === cast.company_id ? cast.admin : cast.stranger).headers)
      .send({ description: `Text ${n}` })
  ).status;

it('changes of two companies', async () => {
  const [one, other] = [cast.company_id, cast.other_company_id];
  let answered = 0;
  const sent = await transaction(database, async (tx) => {
    await tx.execute(sql`select from companies where id in (${one}, ${other}) for update`);
    const all = Array.from({ length: 40 }, async (_, n) => {
      const status = await change(n % 2 === 0 ? one : other, n);
      answered += 1;
      return status;
    });
    await waitFor(async () => (await waitingForLocks(database)) >= 7);
    expect(await read()).toBe(200);
    expect(answered).toBe(0);
    return all;
  });
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]));
});

it.each(Object.entries(cases))('%s', async (_what, { table, stage, send }) => {
  const issue = await createIssue(database.db, { id: cast.company_id });
  const of = (await stage?.()) ?? issue.id;
  let answered = 0;
  const sent = await transaction(database, async (tx) => {
    if (table !== undefined) await tx.execute(sql`lock table ${sql.identifier(table)} in exclusive mode`);
    else {
      await tx.execute(sql`select from companies where id = ${cast.company_id} for update`);
      await tx.execute(sql`select from issues where id = ${of} for update`);
    }
    const all = Array.from({ length: 40 }, async (_, n) => {
      const status = await send(of, n);
      answered += 1;
      return status;
    });
    await waitFor(async () => (await waitingForLocks(database)) >= 7);
    expect(await read()).toBe(200);
    expect(await change(cast.other_company_id, 0)).toBe(200);
    expect(answered).toBe(0);
    return all;
  });
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]));
});
