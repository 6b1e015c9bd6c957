/** The instance's administration over HTTP: guarantees of its rows beyond role and shape. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adapterTypes, agentRoles } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import request from 'supertest';
import { type Cast, createCast } from './cast.ts';
import { startWholeApp, type WholeApp } from './whole-app.ts';

let database: Database;
let app: WholeApp;
let cast: Cast;

beforeAll(async () => {
  app = await startWholeApp();
  ({ database } = app);
  cast = await createCast(database);
});
afterAll(() => app.close());

const get = (path: string, who: keyof Cast & ('agent' | 'instance_admin' | 'viewer' | 'anonymous')) =>
  request(app.server).get(path).set(cast[who].headers);

const patch = (body: object) =>
  request(app.server).patch('/api/instance-settings').set(cast.instance_admin.headers).send(body);

describe('plain-text references', () => {
  it('tell any authenticated caller how agents are configured, adapter by adapter', async () => {
    const { status, text, headers } = await get('/llms/agent-configuration.txt', 'agent');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    for (const type of adapterTypes) {
      expect(text).toContain(`- ${type}: `);
      const one = await get(`/llms/agent-configuration/${type}.txt`, 'viewer');
      expect([one.status, one.text]).toEqual([200, expect.stringContaining(`adapter_config of ${type}`)]);
    }
    const icons = await get('/llms/agent-icons.txt', 'agent');
    expect(icons.text.match(/^\w+: .+$/gm)).toHaveLength(agentRoles.length);
  });

  it('are nothing for a stranger, and know no other adapter', async () => {
    expect((await get('/llms/agent-configuration.txt', 'anonymous')).status).toBe(401);
    for (const name of ['nonsense.txt', 'llm', 'constructor.txt', '.txt'])
      expect((await get(`/llms/agent-configuration/${name}`, 'agent')).status).toBe(404);
  });

  it('send a browser without a session to the sign-in, and nobody else', async () => {
    const path = '/llms/agent-icons.txt';
    const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const { status, headers } = await request(app.server).get(path).set(browser);
    expect([status, headers.location]).toEqual([303, `/login?next=${encodeURIComponent(path)}`]);
    for (const key of ['Bearer sk_wrong', 'Basic eA=='])
      await request(app.server).get(path).set(browser).set('Authorization', key).expect(401);
    await request(app.server).get('/api/me').set(browser).expect(401);
  });
});

describe('instance settings', () => {
  it('are read by anybody authenticated and set by the instance admin; an unknown key is 400', async () => {
    expect((await patch({ instance_name: 'Here' })).body).toMatchObject({ instance_name: 'Here' });
    expect((await get('/api/instance-settings', 'agent')).body).toMatchObject({ instance_name: 'Here' });
    const unknown = await patch({ instance_name: 'There', encryption_keys: [] });
    expect(unknown.status).toBe(400);
    expect((await patch({ instance_name: null })).body).toMatchObject({ instance_name: null });
  });
});

describe('a new user', () => {
  const create = (values: object) => {
    const user = {
      email: `${newId()}@example.com`,
      password: 'seven sails at dawn',
      display_name: 'Newcomer',
    };
    return request(app.server)
      .post('/api/users')
      .set(cast.instance_admin.headers)
      .send({ ...user, ...values });
  };

  it('may have any password of eight characters', async () => {
    for (const [password, status] of Object.entries({ password123: 201, '12345678': 201, '1234567': 400 }))
      expect([password, (await create({ password })).status]).toEqual([password, status]);
  });

  it.each(['password123', 'P@ssw0rd!', 'QwertyUiop1', 'Made2024'])(
    'is not created with %s, which is guessed first, where the API refuses those, too: 400',
    async (password) => {
      await patch({ refuse_common_passwords: true });
      const email = `${newId()}@example.com`;
      const { status, body } = await create({ email, password });
      expect(status).toBe(400);
      expect(body.error).toMatch(/password is (one of the most common|your name)/);
      expect(await database.db.$count(schema.users, eq(schema.users.email, email))).toBe(0);
      await patch({ refuse_common_passwords: null });
    },
  );

  it('may have an address without a dot in its domain, and none that is no address', async () => {
    expect((await create({ email: `root-${newId()}@localhost` })).status).toBe(201);
    for (const email of [
      'root',
      'root@',
      '@localhost',
      'a b@localhost',
      'a@-b',
      'a@b..c',
      'a,b@c',
      'x <a@b>',
    ])
      expect([email, (await create({ email })).status]).toEqual([email, 400]);
  });
});

describe('an optional body', () => {
  it.each(['', 'null', '{}'])('may be sent as %j with the type of JSON', async (text) => {
    const { status, body } = await request(app.server)
      .post(`/api/companies/${cast.company_id}/export`)
      .set(cast.admin.headers)
      .type('json')
      .send(text);
    expect([status, body]).toEqual([200, expect.objectContaining({ format: 'company-bundle' })]);
  });
});

describe('a secret without an encryption key', () => {
  it('is refused with 503 and stored nowhere', async () => {
    const { status, body } = await request(app.server)
      .post(`/api/companies/${cast.company_id}/secrets`)
      .set(cast.admin.headers)
      .send({ name: 'A', value: 'v' });
    expect([status, body]).toEqual([503, { error: expect.stringContaining('SERVICE_ENCRYPTION_KEY') }]);
    const ours = eq(schema.secrets.company_id, cast.company_id);
    expect(await database.db.$count(schema.secrets, ours)).toBe(0);
  });
});

describe('flags', () => {
  it('are put and deleted by name; an empty value names the way back', async () => {
    const flag = (method: 'put' | 'delete') =>
      request(app.server)[method]('/api/admin/flags/mcp').set(cast.instance_admin.headers);
    expect((await flag('put').send({ value: false })).body).toMatchObject({ effective_value: false });
    const empty = await flag('put').send({ value: '' });
    expect([empty.status, empty.body]).toEqual([400, { error: expect.stringContaining('DELETE') }]);
    expect((await flag('delete')).body).toMatchObject({ value: null, effective_value: true });
  });
});

describe('stream metrics', () => {
  it('count by company', async () => {
    const { body } = await get('/api/admin/sse-metrics', 'instance_admin');
    expect(body).toEqual({ streams: 0, companies: expect.any(Object) });
  });
});
