/** How workers register and what admins do with them, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AdminWorker, PROMPT_VERSION, verbTable, type WorkerRegistration } from '@acp/contract';
import { newApiKey } from '@acp/kernel';
import { waitFor } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { TestFleet } from './fleet.ts';

let fleet: TestFleet;
const REGISTER = '/api/workers/register';

beforeAll(async () => {
  fleet = await TestFleet.start('registration');
});

afterAll(async () => fleet.stop());

const register = async (body: object | undefined, key?: string, url?: string) =>
  fleet.call<WorkerRegistration>(
    'POST',
    REGISTER,
    key === undefined ? {} : { Authorization: `Bearer ${key}` },
    body,
    url,
  );
const shown = async (id: string) =>
  (await fleet.admin<AdminWorker[]>('GET', '/api/admin/workers')).body.find((worker) => worker.id === id);

describe('a worker that registers', () => {
  it('is made, and shown key and contract', async () => {
    const { status, body } = await register({ name: 'host', tags: ['gpu', 'gpu'], version: '5.0.2' });
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        worker_id: expect.any(String),
        api_key: expect.stringMatching(/^sk_[0-9a-f]{64}$/),
        status: 'approved',
        tags: ['gpu'],
        operating_prompt: expect.stringContaining('# Operating contract 1.4.0'),
        prompt_version: '1.4.0',
      },
    });
    expect(await shown(body.worker_id)).toMatchObject({
      name: 'host',
      status: 'approved',
      online: true,
      running: 0,
      version: '5.0.2',
    });
  });

  it('with its key goes on as the same one, with the tags that are stored and the build that it has', async () => {
    const first = await register({ name: 'host', tags: ['linux'], version: '1' });
    const again = await register({ name: 'other', tags: ['gpu'], version: '2' }, first.body.api_key);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ worker_id: first.body.worker_id, tags: ['linux'] });
    expect(again.body.api_key).toBeUndefined();
    expect(await shown(first.body.worker_id)).toMatchObject({ name: 'host', tags: ['linux'], version: '2' });
  });

  it('with its key need say nothing else; what it leaves out of its build stays as it was', async () => {
    const build = { version: '1', commit: 'c0ffee', build_date: '2026-11-01', prompt_version: '1.4.0' };
    const { body } = await register({ name: 'host', tags: ['linux'], shared_models: 'mine:big', ...build });
    for (const sent of [{}, undefined, { version: '2' }]) {
      const again = await register(sent, body.api_key);
      expect([again.status, again.body.worker_id]).toEqual([200, body.worker_id]);
    }
    expect(await shown(body.worker_id)).toMatchObject({
      ...build,
      name: 'host',
      version: '2',
      shared_models: [{ provider: 'mine', models: ['big'] }],
    });
    expect((await register({ tags: [] })).status).toBe(400);
    expect((await register(undefined)).status).toBe(400);
  });

  it('with a key that is nobody’s is a new one; with another’s it is refused', async () => {
    expect((await register({ name: 'host', tags: [] }, newApiKey())).status).toBe(201);
    for (const { raw_key } of [fleet.cast.agent, fleet.cast.board_admin])
      expect(await register({ name: 'host', tags: [] }, raw_key)).toEqual({
        status: 401,
        body: { error: 'invalid api key' },
      });
  });

  it('says its shared models as text or as a list, and is told what is wrong with them', async () => {
    const { body } = await register({ name: 'host', tags: [], shared_models: 'mine:m-*,big' });
    expect((await shown(body.worker_id))?.shared_models).toEqual([
      { provider: 'mine', models: ['m-*', 'big'] },
    ]);
    const bad = await register({ name: 'host', tags: [], shared_models: 'nonsense' });
    expect(bad).toEqual({ status: 400, body: { error: expect.stringContaining('nonsense') } });
  });
});

describe('where approval is required', () => {
  let url: string;
  beforeAll(async () => {
    url = await fleet.anotherWeb({ SERVICE_REQUIRE_WORKER_APPROVAL: 'true' });
  });

  it('a worker waits: its key opens nothing, and it learns the contract once it is approved', async () => {
    const { status, body } = await register({ name: 'new', tags: ['gpu'] }, undefined, url);
    expect({ status, body }).toEqual({
      status: 201,
      body: { worker_id: expect.any(String), api_key: expect.any(String), status: 'pending_approval' },
    });
    const worker = fleet.worker(body.worker_id, body.api_key!);
    const refused = { status: 403, body: { error: 'worker is pending approval' } };
    expect(await worker.call('POST', '/api/workers/heartbeat')).toEqual(refused);
    expect(await worker.call('POST', '/api/workers/tasks/claim')).toEqual(refused);
    const waiting = await register({ name: 'new', tags: [] }, worker.key, url);
    expect(waiting).toMatchObject({ status: 200, body: { status: 'pending_approval' } });
    expect(waiting.body.operating_prompt).toBeUndefined();

    expect((await fleet.admin('POST', `/api/admin/workers/${worker.id}/approve`)).status).toBe(200);
    expect(await worker.heartbeat()).toBe(204);
    const resumed = await register({ name: 'new', tags: [] }, worker.key, url);
    expect(resumed.body).toMatchObject({ status: 'approved', tags: ['gpu'], prompt_version: PROMPT_VERSION });
    expect(resumed.body.operating_prompt).toContain('Action lines');
  });

  it('a rejected worker is turned away for good', async () => {
    const { body } = await register({ name: 'new', tags: [] }, undefined, url);
    await fleet.admin('POST', `/api/admin/workers/${body.worker_id}/reject`);
    const again = await register({ name: 'new', tags: [] }, body.api_key, url);
    expect(again).toEqual({ status: 403, body: { error: 'worker is rejected' } });
    expect((await fleet.admin('POST', `/api/admin/workers/${body.worker_id}/approve`)).status).toBe(409);
  });

  it('at the cap nobody new is let in, and known ones go on', async () => {
    const { api_key } = (await register({ name: 'known', tags: [] })).body;
    const full = await fleet.anotherWeb({ SERVICE_MAX_REMOTE_WORKERS: '1' });
    expect((await register({ name: 'new', tags: [] }, undefined, full)).status).toBe(503);
    expect((await register({ name: 'known', tags: [] }, api_key, full)).status).toBe(200);
  });
});

describe('an instance admin', () => {
  const move = async (id: string, verb: string) =>
    (await fleet.admin('POST', `/api/admin/workers/${id}/${verb}`)).status;

  it('moves workers through their states, and not past them', async () => {
    const worker = await fleet.register();
    expect(await move(worker.id, 'approve')).toBe(409);
    expect(await move(worker.id, 'drain')).toBe(200);
    expect(await worker.heartbeat()).toBe(204);
    expect(await move(worker.id, 'undrain')).toBe(200);
    expect(await move(worker.id, 'disable')).toBe(200);
    expect(await worker.heartbeat()).toBe(403);
    expect((await register({ name: 'w', tags: [] }, worker.key)).status).toBe(403);
    expect(await move(worker.id, 'enable')).toBe(200);
    expect(await worker.heartbeat()).toBe(204);
    expect((await fleet.admin('DELETE', `/api/admin/workers/${worker.id}`)).status).toBe(204);
    expect(await worker.heartbeat()).toBe(401);
    expect(await move(worker.id, 'drain')).toBe(404);
  });

  it('makes a worker ahead of its start, and sets the tags that count', async () => {
    const made = await fleet.admin<{ worker_id: string; api_key: string }>('POST', '/api/admin/workers', {
      name: 'rack 7',
      tags: ['linux'],
    });
    expect(made.status).toBe(201);
    const { worker_id, api_key } = made.body;
    await fleet.admin('PATCH', `/api/admin/workers/${worker_id}`, { tags: ['gpu'] });
    expect((await register({ name: 'mine', tags: ['linux'] }, api_key)).body.tags).toEqual(['gpu']);
  });

  it('reads every worker, with those that have not come lately as offline; companies read the short list', async () => {
    const worker = await fleet.register({ name: 'asleep' });
    await fleet.kit.database.db.execute(
      sql`update workers set last_seen_at = now() - interval '6 minutes' where id = ${worker.id}`,
    );
    expect((await shown(worker.id))?.online).toBe(false);
    const found = async (online: string) => {
      const { status, body } = await fleet.admin<{ id: string }[]>(
        'GET',
        `/api/admin/workers?online=${online}`,
      );
      return status === 200 ? body.some(({ id }) => id === worker.id) : status;
    };
    expect([await found('false'), await found('true'), await found('maybe')]).toEqual([true, false, 400]);
    const list = await fleet.call<{ id: string }[]>('GET', '/api/workers', fleet.cast.agent.headers);
    expect(list.status).toBe(200);
    expect(Object.keys(list.body[0]!).toSorted()).toEqual(
      ['id', 'name', 'tags', 'status', 'last_seen_at', 'created_at'].toSorted(),
    );
    expect((await fleet.call('GET', '/api/workers', fleet.cast.admin.headers)).status).toBe(401);
  });

  it('switches the feature off: its routes are gone', async () => {
    const worker = await fleet.register();
    await fleet.admin('PUT', '/api/admin/flags/remote_workers', { value: false });
    const off = await waitFor(async () => (await worker.heartbeat()) === 404, { what: 'the flag to be off' });
    await fleet.admin('DELETE', '/api/admin/flags/remote_workers');
    const on = await waitFor(async () => (await worker.heartbeat()) === 204, { what: 'the flag to be on' });
    expect([off, on]).toEqual([true, true]);
  });
});

it('the operating contract names every verb that counts in a result, and its version', async () => {
  const worker = await fleet.register();
  const { body, status } = await worker.call<string>('GET', '/api/workers/operating-prompt');
  expect(status).toBe(200);
  for (const verb of verbTable.filter(({ remote }) => remote)) expect(body).toContain(`/${verb.name} `);
  for (const verb of verbTable.filter(({ remote }) => !remote)) expect(body).not.toContain(`\`/${verb.name}`);
  expect((await fleet.call('GET', '/api/workers/operating-prompt')).status).toBe(401);
});
