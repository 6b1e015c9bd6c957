/** What the API says about plugins whose processes are elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { schema } from '@acp/db';
import request from 'supertest';
import { type Cast, createCast } from './cast.ts';
import { startWholeApp, type WholeApp } from './whole-app.ts';

let app: WholeApp;
let cast: Cast;

beforeAll(async () => {
  app = await startWholeApp();
  cast = await createCast(app.database);
});
afterAll(() => app.close());

const tool = (namespace: string, name: string) => ({
  namespace,
  name,
  description: '',
  input_schema: { type: 'object' },
});

/** @returns the id of a plugin in the state of one that runs, unless `row` says otherwise */
async function running(slug: string, parts: object, row: object = {}): Promise<string> {
  const none = { name: slug, tools: [], events: [], jobs: [], webhooks: [] };
  const [made] = await app.database.db
    .insert(schema.plugins)
    .values({
      company_id: cast.company_id,
      name: slug,
      slug,
      host_capabilities: [],
      approval_state: 'allowed',
      state: 'running',
      wanted: true,
      manifest: { ...none, ...parts },
      ...row,
    })
    .returning();
  return made!.id;
}

it.each([
  ['daily_digest', 201],
  ['Digest.v2', 201],
  ['../digest', 400],
  ['digest ', 400],
])('a plugin with the slug "%s": %d', async (slug, status) => {
  const { body } = await request(app.server)
    .post(`/api/companies/${cast.company_id}/plugins`)
    .set(cast.admin.headers)
    .send({ name: 'Digest', slug })
    .expect(status);
  expect(body.slug).toBe(status === 201 ? slug : undefined);
});

describe('a webhook', () => {
  it.each([
    // It is read, and no plugin has the path.
    ['10 MiB', 0, 404],
    ['one byte more', 1, 413],
  ])('of %s', async (_, more, status) => {
    await request(app.server)
      .post(`/api/companies/${cast.company_id}/plugins/webhooks/nobody`)
      .set(cast.member.headers)
      .set('Content-Type', 'application/octet-stream')
      .send(Buffer.alloc(10 * 1024 * 1024 + more))
      .expect(status);
  });
});

it.each([
  ['running', true, ['tick']],
  ['errored', true, ['tick']],
  ['errored', false, []],
  ['stopped', false, []],
  ['disabled', false, []],
])('the jobs of a plugin that is %s, and should run: %s, are %j', async (state, wanted, names) => {
  const id = await running(`jobs-${state}-${wanted}`, {}, { state, wanted });
  await app.database.db
    .insert(schema.plugin_jobs)
    .values({ plugin_id: id, name: 'tick', schedule: '* * * * *' });
  const { body } = await request(app.server)
    .get(`/api/plugins/${id}/jobs`)
    .set(cast.viewer.headers)
    .expect(200);
  expect((body as { name: string }[]).map(({ name }) => name)).toEqual(names);
});

describe('a tool of one plugin', () => {
  it('whose name others of it have is called by its qualified name only', async () => {
    const id = await running('twins', { tools: [tool('a', 'echo'), tool('b', 'echo')] });
    const { body, status } = await request(app.server)
      .post(`/api/plugins/${id}/tools/invoke`)
      .set(cast.admin.headers)
      .send({ tool: 'echo' });
    expect({ status, body: body as unknown }).toEqual({
      status: 409,
      body: { error: 'several tools have the name echo: call one of a:echo, b:echo' },
    });
  });
});
