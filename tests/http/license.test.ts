/** An instance without a license, row by row: writes are refused, reads still answer (decisions 1). */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endpoints } from '@acp/contract';
import {
  admitLicense,
  completeSetup,
  createInvite,
  createRoutine,
  joinByInvite,
  fireDueSchedule,
  invokeAgent,
  putFlag,
  systemActor,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { createLogger, issueLicense, loadConfig, newId } from '@acp/kernel';
import { databaseWithQueue, testDatabase, waitFor } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { apiRoutes } from '../../apps/web/src/api/index.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { createCredentials } from '../../apps/web/src/http/credentials.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { LiveHub } from '../../apps/web/src/live/hub.ts';
import { liveRoutes } from '../../apps/web/src/live/routes.ts';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import { createCast, type Cast } from './cast.ts';
import { createStage, pathOn, type Stage } from './stage.ts';

const READ_ONLY = { error: 'instance is read-only: license required' };
const vendor = generateKeyPairSync('ed25519');
const publicKey = vendor.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64');

let database: Database;
let app: Express;
let cast: Cast;
let stage: Stage;
let instance: InstanceState;
let hub: LiveHub;

beforeAll(async () => {
  const { listener } = await testDatabase();
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_LICENSE_PUBLIC_KEY: publicKey });
  instance = new InstanceState({ database, logger, listener });
  const services = createServices({ database, config, logger, instance });
  hub = new LiveHub({ database, listener, logger });
  const routes = [...apiRoutes, ...liveRoutes(hub)];
  const credentials = createCredentials({ database, logger });
  const ui = uiRouter({ config, database, credentials, services, logger });
  app = createApp({ database, logger, config, credentials, services, routes, ui, validate_responses: true });
  cast = await createCast(database);
  stage = await createStage(database, cast);
  await transaction(database, async (tx) => admitLicense(tx, null));
  // Rows of a disabled feature respond as absent; this one is off by default.
  await transaction(database, async (tx) =>
    putFlag(tx, systemActor('tests'), 'prompt_evolution', { value: true }),
  );
  await expire();
});

/** Ends the trial or the license. */
async function expire(): Promise<void> {
  await database.db.execute(sql`update instance_settings
    set value = value || jsonb_build_object('until', now()) where key = 'entitlement'`);
  await instance.refresh();
}

afterAll(() => {
  hub.close();
  instance.close();
});

const mutating = endpoints.filter(({ method, tx }) => method !== 'GET' || tx === 'write');
const forms = uiPages.filter((route) => route.kind === 'action');
const send = async ({ method }: { method: string }, path: string, headers: Record<string, string>) =>
  request(app)[method.toLowerCase() as 'post'](path).set(headers);

describe('on a read-only instance', () => {
  it.each(mutating.filter(({ while_read_only }) => while_read_only !== true))(
    '$id is refused, whoever may call it',
    async (row) => {
      const { instance_admin: user, agent, board_admin: board_user, worker } = cast;
      const callers = Object.entries({ user, agent, board_user, worker }).filter(
        ([kind]) => row.auth.length === 0 || row.auth.some((known) => known === kind),
      );
      const answers = await Promise.all(
        callers.map(async ([, { headers }]) => send(row, pathOn(stage, row), headers)),
      );
      // Callers without permission get that refusal first.
      const texts = answers.map(({ status, body }) => [status, (body as { error: string }).error]);
      expect(texts).toContainEqual([403, READ_ONLY.error]);
      for (const [status] of texts) expect(status).toBe(403);
    },
  );

  it.each(forms.filter(({ endpoint }) => endpoint.while_read_only !== true))(
    'the form $path is refused, and says so',
    async ({ path, scope }) => {
      const answer = await request(app)
        .post(pathOn(stage, { path, scope }))
        .type('form')
        .set({ ...cast.instance_admin.headers, 'Sec-Fetch-Site': 'same-origin' })
        .send('');
      expect([answer.status, answer.text.includes(READ_ONLY.error)]).toEqual([403, true]);
    },
  );

  it('reads answer, strangers get their 404 and nobody 401 as ever', async () => {
    const path = `/api/companies/${cast.company_id}/issues`;
    expect((await request(app).get(path).set(cast.viewer.headers)).status).toBe(200);
    expect((await request(app).post(path).set(cast.stranger.headers).send({ title: 'x' })).status).toBe(404);
    expect((await request(app).post(path).send({ title: 'x' })).status).toBe(401);
  });

  it('clients of an agent may look at tasks, and bring none', async () => {
    const path = `/companies/${cast.company_id}/agents/${cast.agent_id}/a2a`;
    const ask = async (method: string, params: object) =>
      (await request(app).post(path).set(cast.agent.headers).send({ jsonrpc: '2.0', id: 1, method, params }))
        .body as object;
    const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'x' }] };
    for (const [method, params] of [
      ['SendMessage', { message }],
      ['CancelTask', { id: newId() }],
    ] as const)
      expect(await ask(method, params)).toMatchObject({ error: { message: READ_ONLY.error } });
    expect(await ask('ListTasks', {})).toMatchObject({ result: { tasks: [] } });
  });

  it('no run starts and no routine fires, by whatever door', async () => {
    const invoked = transaction(database, async (tx) =>
      invokeAgent(tx, systemActor('test'), { id: cast.agent_id }),
    );
    await expect(invoked).rejects.toMatchObject({ message: READ_ONLY.error });
    await transaction(database, async (tx) => {
      const { id } = await createRoutine(tx, systemActor('test'), cast.company_id, { name: 'Hourly' });
      await tx.execute(sql`insert into routine_triggers (company_id, routine_id, kind, cron_expression, timezone, next_fire_at)
        values (${cast.company_id}, ${id}, 'schedule', '0 * * * *', 'UTC', now() - interval '99 years')`);
    });
    const due = await transaction(database, async (tx) => fireDueSchedule(tx, cast.company_id));
    expect(due?.fired?.run).toMatchObject({ status: 'failed', error: READ_ONLY.error, issue_id: null });
  });

  it('nobody joins by an invite or sets the instance up, by whatever page', async () => {
    const newcomer = {
      email: 'new@example.com',
      display_name: 'New',
      password_hash: null,
      email_verified: true,
    };
    const { token } = await transaction(database, async (tx) =>
      createInvite(tx, systemActor('test'), cast.company_id, { role: 'member' }),
    );
    const joined = transaction(database, async (tx) => joinByInvite(tx, token!, newcomer));
    await expect(joined).rejects.toMatchObject({ kind: 'forbidden', message: READ_ONLY.error });
    const set_up = transaction(database, async (tx) => completeSetup(tx, 'any', newcomer));
    await expect(set_up).rejects.toMatchObject({ kind: 'forbidden', message: READ_ONLY.error });
  });

  it('the instance admin installs a license, and all goes on; a forged one is refused', async () => {
    const license = { id: newId(), holder: 'Acme', expires_at: new Date('2999-01-01') };
    const install = (key: string) =>
      request(app).post('/api/admin/license').set(cast.instance_admin.headers).send({ license_key: key });
    const forged = issueLicense(license, generateKeyPairSync('ed25519').privateKey);
    await install(forged).expect(400, { error: 'the license was not issued for this service' });
    try {
      await install(issueLicense(license, vendor.privateKey)).expect(200);
      const shown = await request(app).get('/api/admin/license').set(cast.instance_admin.headers);
      expect(shown.body).toMatchObject({ status: 'licensed', read_only: false, holder: 'Acme' });
      await waitFor(() => !instance.read_only);
      const created = request(app).post(`/api/companies/${cast.company_id}/issues`).set(cast.member.headers);
      await created.send({ title: 'On we go' }).expect(201);
    } finally {
      await expire();
    }
  });
});
