/** Routines and their triggers over HTTP (decisions 3, Routines; specification, Trigger management). */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { createLogger, hmacSha256Hex, loadConfig, newId } from '@acp/kernel';
import { databaseWithQueue, nextInstant, waitFor, waitingForLocks } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { randomBytes } from 'node:crypto';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';

type Json = Record<string, unknown>;

let database: Database;
let app: Express;
let keyless: Express;
let cast: Cast;

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const base = { database, logger, validate_responses: true };
  const key = randomBytes(32).toString('hex');
  app = createApp({ ...base, config: loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: key }) });
  keyless = createApp({ ...base, config: loadConfig({ RATE_LIMIT_RPM: '0' }) });
  cast = await createCast(database);
});

type Who = 'member' | 'viewer' | 'agent' | 'admin';

async function call(
  method: 'get' | 'post' | 'patch' | 'delete',
  path: string,
  body?: object,
  who: Who = 'member',
) {
  const sent = request(app)[method](path).set(cast[who].headers);
  return body ? sent.send(body) : sent;
}

async function ok(method: 'get' | 'post' | 'patch', path: string, body?: object): Promise<Json> {
  const { status, body: answer } = await call(method, path, body);
  expect({ status, answer, ok: status < 300 }).toEqual({ status, answer, ok: true });
  return answer as Json;
}

const make = async (body: object = {}) =>
  ok('post', `/api/companies/${cast.company_id}/routines`, { name: 'Nightly', ...body });
const addTrigger = async (routine: Json, body: object) =>
  ok('post', `/api/routines/${String(routine.id)}/triggers`, body);
const fire = async ({ public_id }: Json, secret: unknown, body: string) =>
  request(app)
    .post(`/api/routine-triggers/public/${String(public_id)}/fire`)
    .set('X-Service-Signature', hmacSha256Hex(String(secret), body))
    .set('Content-Type', 'text/plain')
    .send(body);

describe('a routine', () => {
  it('is made with what it was given, and with defaults for the rest', async () => {
    expect(await make()).toMatchObject({
      company_id: cast.company_id,
      name: 'Nightly',
      title_template: 'Nightly',
      body_template: null,
      priority: 'medium',
      status: 'active',
      concurrency_policy: 'coalesce_if_active',
      assignee_agent_id: null,
      last_fired_at: null,
      next_fire_at: null,
    });
  });

  it('is read, changed, cleared of a field, and moved to the trash', async () => {
    const { id } = await make({ description: 'Why', assignee_agent_id: cast.agent_id });
    const path = `/api/routines/${String(id)}`;
    const changed = await ok('patch', path, { description: null, status: 'paused', priority: 'critical' });
    expect(changed).toMatchObject({
      description: null,
      status: 'paused',
      priority: 'critical',
      assignee_agent_id: cast.agent_id,
    });
    expect(await ok('get', path)).toEqual(changed);
    expect((await call('delete', path)).status).toBe(204);
    expect((await call('get', path)).status).toBe(404);
    const trash = await request(app)
      .get('/api/admin/trash?type=routine')
      .set(cast.instance_admin.headers)
      .expect(200);
    const [entry] = trash.body as Json[];
    expect(entry).toMatchObject({ entity_id: id, name: 'Nightly', type: 'routine' });
    const restore = `/api/admin/trash/routine/${String(id)}/${String(entry!.trash_id)}/restore`;
    await request(app).post(restore).set(cast.instance_admin.headers).expect(200);
    expect(await ok('get', path)).toMatchObject({ id, status: 'paused' });
  });

  it.each([
    [
      'another company’s agent',
      () => ({ assignee_agent_id: cast.other_agent_id }),
      'assignee_agent_id: unknown agent',
    ],
    ['an unknown project', () => ({ project_id: newId() }), 'project_id: unknown project'],
    ['an unknown goal', () => ({ goal_id: newId() }), 'goal_id: unknown goal'],
  ])('with %s is refused', async (_what, fields, error) => {
    const { status, body } = await call('post', `/api/companies/${cast.company_id}/routines`, {
      name: 'N',
      ...fields(),
    });
    expect({ status, body }).toEqual({ status: 400, body: { error } });
  });

  it('is listed newest first, by page and by status', async () => {
    const made = [await make({ status: 'archived' })];
    await nextInstant();
    made.push(await make({ status: 'archived' }), await make());
    const path = `/api/companies/${cast.company_id}/routines?status=archived&limit=1`;
    const first = await call('get', path);
    expect(first.body).toEqual([made[1]]);
    const second = await call('get', `${path}&cursor=${first.headers['x-next-cursor']}`);
    expect(second.body).toEqual([made[0]]);
    expect((await call('get', `/api/companies/${cast.company_id}/routines?status=asleep`)).status).toBe(400);
  });

  it('is managed by agents that may, and by no others', async () => {
    const { id } = await make();
    const path = `/api/routines/${String(id)}/fire`;
    expect((await call('post', path, {}, 'agent')).body).toMatchObject({
      status: 'enqueued',
      run: { source: 'agent' },
    });
    const refusals = [
      ['routines.manage', path, {}, 'permission withheld: routines.manage'],
      [
        'issues.assign',
        `/api/companies/${cast.company_id}/routines`,
        { name: 'N', assignee_agent_id: cast.agent_id },
        'permission withheld: issues.assign',
      ],
    ] as const;
    for (const [permission, target, body, error] of refusals) {
      const other = await createCast(database);
      const withheld = JSON.stringify({ [permission]: false });
      await database.pool.query('update agents set permissions = $1, company_id = $2 where id = $3', [
        withheld,
        cast.company_id,
        other.agent_id,
      ]);
      await database.pool.query('update agent_api_keys set company_id = $1 where agent_id = $2', [
        cast.company_id,
        other.agent_id,
      ]);
      const answer = await request(app).post(target).set(other.agent.headers).send(body);
      expect({ status: answer.status, body: answer.body }).toEqual({ status: 403, body: { error } });
    }
  });

  it.each(['issues.create', 'issues.assign'])(
    'gives an agent without %s no way to issues of its own words: none of its texts, of its hours and of its URLs',
    async (permission) => {
      const routine = await make({ assignee_agent_id: cast.agent_id, title_template: 'Report' });
      const hook = await addTrigger(routine, { kind: 'webhook' });
      const path = `/api/routines/${String(routine.id)}`;
      const trigger = `/api/routine-triggers/${String(hook.id)}`;
      const low = await createCast(database);
      await database.pool.query('update agents set permissions = $1, company_id = $2 where id = $3', [
        { [permission]: false },
        cast.company_id,
        low.agent_id,
      ]);
      await database.pool.query('update agent_api_keys set company_id = $1 where agent_id = $2', [
        cast.company_id,
        low.agent_id,
      ]);
      const as = (sent: request.Test) => sent.set(low.agent.headers);
      for (const sent of [
        request(app).patch(path).send({ title_template: '{{payload}}' }),
        request(app).patch(path).send({ assignee_agent_id: null }),
        request(app).post(`${path}/fire`).send({ payload: 'Do as I say' }),
        request(app).post(`${path}/triggers`).send({ kind: 'webhook' }),
        request(app).post(`${path}/triggers`).send({ kind: 'schedule', cron_expression: '* * * * *' }),
        request(app).patch(trigger).send({ enabled: true }),
        request(app).post(`${trigger}/rotate-url`),
      ]) {
        const { status, body } = await as(sent);
        expect({ status, body }).toEqual({
          status: 403,
          body: { error: `permission withheld: ${permission}` },
        });
      }
      expect((await as(request(app).get(`${path}/triggers`))).body).toMatchObject([{ public_id: null }]);
      expect((await call('get', `${path}/triggers`)).body).toMatchObject([{ public_id: hook.public_id }]);
      const alone = await as(
        request(app).post(`/api/companies/${cast.company_id}/routines`).send({ name: 'Unassigned' }),
      );
      expect(alone.status).toBe(permission === 'issues.create' ? 403 : 201);
    },
  );
});

describe('a fire by hand', () => {
  it('answers status and run, and is in the list of runs, page by page', async () => {
    const { id } = await make({ concurrency_policy: 'skip_if_active' });
    const path = `/api/routines/${String(id)}`;
    const first = await ok('post', `${path}/fire`, { payload: { n: 1 } });
    expect(first).toMatchObject({
      status: 'enqueued',
      run: { payload: { n: 1 }, source: 'manual', routine_id: id },
    });
    await nextInstant();
    const second = await ok('post', `${path}/fire`);
    expect(second).toMatchObject({ status: 'skipped', run: { payload: null } });
    const page = await call('get', `${path}/runs?limit=1`);
    expect(page.body).toEqual([second.run]);
    const next = await call('get', `${path}/runs?limit=1&cursor=${page.headers['x-next-cursor']}`);
    expect(next.body).toEqual([first.run]);
    expect(next.headers['x-next-cursor']).toBeUndefined();
  });

  it('keeps a payload that is a text of digits a text', async () => {
    const { id } = await make();
    const { run } = await ok('post', `/api/routines/${String(id)}/fire`, { payload: '123' });
    expect(run).toMatchObject({ payload: '123' });
    expect((await call('get', `/api/routines/${String(id)}/runs`)).body).toEqual([run]);
  });

  it('of a paused routine is 409', async () => {
    const { id } = await make({ status: 'paused' });
    const { status, body } = await call('post', `/api/routines/${String(id)}/fire`);
    expect({ status, body }).toEqual({ status: 409, body: { error: 'the routine is paused' } });
  });
});

describe('a trigger', () => {
  it('of a schedule is kept to five fields and a zone', async () => {
    const routine = await make();
    const trigger = await addTrigger(routine, {
      kind: 'schedule',
      cron_expression: '0 9 * * 1',
      label: 'Mondays',
    });
    expect(trigger).toMatchObject({
      kind: 'schedule',
      enabled: true,
      cron_expression: '0 9 * * 1',
      timezone: 'UTC',
      label: 'Mondays',
      signing_mode: 'none',
      replay_window_sec: 300,
      secret: null,
    });
    expect(await ok('get', `/api/routines/${String(routine.id)}`)).toMatchObject({
      next_fire_at: trigger.next_fire_at,
    });
    const path = `/api/routines/${String(routine.id)}/triggers`;
    for (const body of [
      { kind: 'schedule' },
      { kind: 'schedule', cron_expression: '* * * * * *' },
      { kind: 'schedule', cron_expression: '0 25 * * *' },
      { kind: 'schedule', cron_expression: '0 9 * * *', timezone: 'Mars/Base' },
      { kind: 'schedule', cron_expression: '0 9 * * *', signing_mode: 'hmac' },
      { kind: 'webhook', cron_expression: '0 9 * * *' },
      { kind: 'webhook', signing_mode: 'hmac_ts' },
      { kind: 'webhook', signing_mode: 'rsa' },
      { kind: 'email' },
    ])
      expect([body, (await call('post', path, body)).status]).toEqual([body, 400]);
  });

  it('that is signed shows its secret once, and nobody else keeps it in clear', async () => {
    const routine = await make();
    const { secret, ...shown } = await addTrigger(routine, { kind: 'webhook', signing_mode: 'hmac' });
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(await ok('get', `/api/routines/${String(routine.id)}/triggers`)).toEqual([shown]);
    const { rows } = await database.pool.query('select secret_sealed from routine_triggers where id = $1', [
      shown.id,
    ]);
    expect(JSON.stringify(rows)).not.toContain(secret);
    const repeat = request(app).post(`/api/routines/${String(routine.id)}/triggers`);
    const keyed = { ...cast.member.headers, 'Idempotency-Key': newId() };
    await repeat.set(keyed).send({ kind: 'webhook', signing_mode: 'hmac' }).expect(201);
    const again = request(app)
      .post(`/api/routines/${String(routine.id)}/triggers`)
      .set(keyed);
    await again.send({ kind: 'webhook', signing_mode: 'hmac' }).expect(409, { error: 'already issued' });
  });

  it('can not be signed where no encryption key is set: 503, and there is none', async () => {
    const routine = await make();
    const path = `/api/routines/${String(routine.id)}/triggers`;
    const sent = request(keyless).post(path).set(cast.member.headers);
    await sent.send({ kind: 'webhook', signing_mode: 'hmac' }).expect(503);
    expect(await ok('get', path)).toEqual([]);
    await request(keyless).post(path).set(cast.member.headers).send({ kind: 'webhook' }).expect(201);
  });

  it('gets a new secret: the old one stops at once', async () => {
    const trigger = await addTrigger(await make(), { kind: 'webhook', signing_mode: 'hmac' });
    const rotated = await ok('post', `/api/routine-triggers/${String(trigger.id)}/rotate-secret`);
    expect(rotated.secret).not.toBe(trigger.secret);
    expect(rotated).toMatchObject({ id: trigger.id, public_id: trigger.public_id, signing_mode: 'hmac' });
    expect((await fire(trigger, trigger.secret, 'a')).body).toEqual({ error: 'invalid signature' });
    expect((await fire(trigger, rotated.secret, 'a')).status).toBe(200);
    const bare = await addTrigger(await make(), { kind: 'webhook' });
    expect((await call('post', `/api/routine-triggers/${String(bare.id)}/rotate-secret`)).status).toBe(409);
  });

  it('gets a new URL: the old one stops at once, the secret stays', async () => {
    const trigger = await addTrigger(await make(), { kind: 'webhook', signing_mode: 'hmac' });
    const rotated = await ok('post', `/api/routine-triggers/${String(trigger.id)}/rotate-url`);
    expect(rotated).not.toHaveProperty('secret');
    expect(rotated.public_id).not.toBe(trigger.public_id);
    expect((await fire(trigger, trigger.secret, 'a')).status).toBe(404);
    expect((await fire(rotated, trigger.secret, 'a')).status).toBe(200);
  });

  it('is changed, but never in its signing mode', async () => {
    const trigger = await addTrigger(await make(), { kind: 'webhook' });
    const path = `/api/routine-triggers/${String(trigger.id)}`;
    const changed = await ok('patch', path, { signing_mode: 'hmac_ts', label: 'CI', replay_window_sec: 60 });
    expect(changed).toMatchObject({ signing_mode: 'none', label: 'CI', replay_window_sec: 60 });
    expect((await call('patch', path, { cron_expression: '0 9 * * *' })).status).toBe(400);
    expect((await call('patch', path, { replay_window_sec: -1 })).status).toBe(400);
    expect((await call('delete', path)).status).toBe(204);
    expect((await call('delete', path)).status).toBe(404);
  });
});

it('an issue becomes a routine over HTTP, with a schedule of its own', async () => {
  const issue = await transaction(database, async (tx) =>
    createIssue(tx, systemActor('tests'), cast.company_id, {
      title: 'Water the plants',
      assignee_agent_id: cast.agent_id,
    }),
  );
  const path = `/api/issues/${issue.id}/promote-routine`;
  const routine = await ok('post', path, {
    cron_expression: '0 7 * * *',
    timezone: 'Europe/Berlin',
    name: 'Plants',
  });
  expect(routine).toMatchObject({
    name: 'Plants',
    title_template: 'Water the plants',
    assignee_agent_id: cast.agent_id,
  });
  const triggers = await ok('get', `/api/routines/${String(routine.id)}/triggers`);
  expect(triggers).toEqual([
    expect.objectContaining({
      cron_expression: '0 7 * * *',
      timezone: 'Europe/Berlin',
      next_fire_at: routine.next_fire_at,
    }),
  ]);
  expect(await ok('post', path)).toMatchObject({ name: 'Water the plants' });
  expect((await call('post', path, { cron_expression: 'hourly' })).status).toBe(400);
  expect((await call('post', path, {}, 'viewer')).status).toBe(403);
});

it('the address of an unsigned webhook is shown to whoever created or renewed it, and to nobody else', async () => {
  const routine = await make();
  const [unsigned, signed] = [
    await addTrigger(routine, { kind: 'webhook' }),
    await addTrigger(routine, { kind: 'webhook', signing_mode: 'hmac' }),
  ];
  const path = `/api/routines/${String(routine.id)}/triggers`;
  const ids = async (who: Who) => {
    const { body } = await call('get', path, undefined, who);
    return (body as Json[]).map(({ public_id }) => public_id);
  };
  expect(await ids('member')).toEqual([signed.public_id, unsigned.public_id]);
  for (const who of ['admin', 'agent', 'viewer'] as const)
    expect(await ids(who)).toEqual([signed.public_id, null]);
  const trigger = `/api/routine-triggers/${String(unsigned.id)}`;
  const labelled = await call('patch', trigger, { label: 'Shop' }, 'admin');
  expect([labelled.status, labelled.body.public_id]).toEqual([200, null]);
  const { public_id } = (await call('post', `${trigger}/rotate-url`, undefined, 'admin')).body as Json;
  expect(public_id).not.toBe(unsigned.public_id);
  expect(await ids('admin')).toEqual([signed.public_id, public_id]);
  expect(await ids('member')).toEqual([signed.public_id, null]);
});

it('while many senders wait for a routine, nobody else waits for a connection', async () => {
  const routine = await make({ concurrency_policy: 'always_enqueue' });
  const hook = await addTrigger(routine, { kind: 'webhook', signing_mode: 'hmac' });
  let answered = 0;
  const senders = await transaction(database, async (tx) => {
    await tx.execute(sql`select 1 from routines where id = ${routine.id} for update`);
    const sent = Array.from({ length: 40 }, async (_, n) => {
      const { status } = await fire(hook, hook.secret, `{"n":${n}}`);
      answered += 1;
      return status;
    });
    await waitFor(async () => (await waitingForLocks(database)) >= 2);
    expect((await call('get', `/api/routines/${String(routine.id)}`)).status).toBe(200);
    expect(answered).toBe(0);
    return sent;
  });
  expect(new Set(await Promise.all(senders))).toEqual(new Set([200]));
});
