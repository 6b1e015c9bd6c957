/** @in-order the files of one agent add up */
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { schema } from '@acp/db';
import type { Database } from '@acp/db';
import { like } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from './cast.ts';
import { startPages } from './pages.ts';

const home = mkdtempSync(path.join(tmpdir(), 'acp-agent-files-'));
let app: Express;
let database: Database;
let cast: Cast;
let server: Server;

beforeAll(async () => {
  ({ app, database } = await startPages({ SERVICE_HOME: home }));
  cast = await createCast(database);
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

const files = () => `/api/agents/${cast.agent_id}/files`;
const skills = () => `/api/agents/${cast.agent_id}/fs-skills`;
const upload = (bytes: string, name: string, at?: string) => {
  const sent = request(app).post(files()).set(cast.agent.headers);
  return (at === undefined ? sent : sent.field('path', at)).attach('file', Buffer.from(bytes), name);
};
const get = (url: string) => request(app).get(url).set(cast.agent.headers);

/** Keys of the agent's objects in the storage. */
async function stored(): Promise<string[]> {
  const folder = path.join(home, 'storage');
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && entry.parentPath.includes(`agents/${cast.agent_id}`))
    .map(({ name }) => name);
}

describe('an agent’s file', () => {
  it('lies at its path, comes back as a download, and a second one takes its place', async () => {
    const first = await upload('one', 'report.md', 'data/2026/report.md').expect(201);
    expect(first.body).toEqual({
      path: 'data/2026/report.md',
      size_bytes: 3,
      updated_at: expect.any(String),
    });
    const [before] = await stored();
    await upload('number two', 'report.md', 'data/2026/report.md').expect(201);
    const listed = await get(files()).expect(200);
    expect(listed.body).toMatchObject([{ path: 'data/2026/report.md', size_bytes: 10 }]);
    const answer = await get(`${files()}/data/2026/report.md`).expect(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename=report.md',
      'x-content-type-options': 'nosniff',
    });
    expect(String(answer.body)).toBe('number two');
    // The same request from a client that encodes the path as one parameter.
    await get(`${files()}/data%2F2026%2Freport.md`).expect(200);
    const part = await get(`${files()}/data/2026/report.md`).set('Range', 'bytes=0-5').expect(206);
    expect(String(part.body)).toBe('number');
    const orphans = await database.db
      .select()
      .from(schema.storage_orphans)
      .where(like(schema.storage_orphans.storage_key, `agents/${cast.agent_id}/%`));
    expect(orphans).toMatchObject([{ storage_key: expect.stringContaining(before!) }]);
    await request(app).delete(`${files()}/data/2026/report.md`).set(cast.agent.headers).expect(204);
    await get(`${files()}/data/2026/report.md`).expect(404);
    // The previous object is left to the sweep.
    expect(await stored()).toEqual([before]);
  });

  it('has its own name where no path is given, page by page', async () => {
    for (const name of ['c.txt', 'a.txt', 'b.txt']) await upload('x', name).expect(201);
    const first = await get(`${files()}?limit=2`).expect(200);
    const next = first.headers['x-next-cursor'];
    const second = await get(`${files()}?limit=2&cursor=${next}`).expect(200);
    expect([...first.body, ...second.body].map((file: { path: string }) => file.path)).toEqual([
      'a.txt',
      'b.txt',
      'c.txt',
    ]);
  });

  it('is followed by the next page, however long its path is', async () => {
    const folder = Array.from({ length: 9 }, () => 'z'.repeat(50)).join('/');
    for (const name of ['a', 'b']) await upload('x', 'x.md', `${folder}/${name}`).expect(201);
    const first = await get(`${files()}?limit=200`).expect(200);
    const long = (first.body as { path: string }[]).findIndex(({ path: at }) => at.endsWith('/a'));
    const upTo = await get(`${files()}?limit=${long + 1}`).expect(200);
    const rest = await get(`${files()}?limit=1&cursor=${upTo.headers['x-next-cursor']}`).expect(200);
    expect(rest.body).toMatchObject([{ path: `${folder}/b` }]);
    for (const name of ['a', 'b'])
      await request(app).delete(`${files()}/${folder}/${name}`).set(cast.agent.headers).expect(204);
  });

  it('is refused at a path that leads elsewhere, and nothing of it stays', async () => {
    const before = await stored();
    for (const at of ['../x', '/etc/x', 'a/../../x', '..%2fx', '．．/x', '.ssh/authorized_keys', 'a\\..\\x'])
      await upload('x', 'x', at).expect(400, {
        error: 'the path must be relative and consist of ordinary names',
      });
    expect(await stored()).toEqual(before);
  });

  it.each([
    '../../../../etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e/%2e%2e/etc/passwd',
    '%252e%252e/secret',
    '..%5c..%5csecret',
    '/etc/passwd',
    'a/./b',
    'a//b',
  ])('asked for as %s is 400, however the client spells it', async (spelling) => {
    // Written to the socket directly: clients normalize such paths before they send them.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(
      `GET ${files()}/${spelling} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${cast.agent.headers.Authorization}\r\n\r\n`,
    );
    const answer = await text(socket);
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request');
    expect(answer).not.toContain('root:');
  });

  it('is not written by an agent whose permission is withheld', async () => {
    await request(app)
      .patch(`/api/agents/${cast.agent_id}/permissions`)
      .set(cast.admin.headers)
      .set('Sec-Fetch-Site', 'same-origin')
      .send({ 'files.write': false })
      .expect(200);
    await upload('x', 'x').expect(403);
    await request(app)
      .patch(`/api/agents/${cast.agent_id}/permissions`)
      .set(cast.admin.headers)
      .set('Sec-Fetch-Site', 'same-origin')
      .send({ 'files.write': true })
      .expect(200);
    await upload('x', 'x').expect(201);
  });
});

describe('an agent’s own skill', () => {
  it('is written and deleted only with both permissions: skills.manage and files.write', async () => {
    const body = { content: '---\nname: Sewing\ndescription: How to sew.\n---\nSew.' };
    const grant = async (key: string, given: boolean) =>
      request(app)
        .patch(`/api/agents/${cast.agent_id}/permissions`)
        .set(cast.admin.headers)
        .send({ [key]: given })
        .expect(200);
    const put = (who = cast.agent as { headers: Record<string, string> }) =>
      request(app).put(`${skills()}/sewing`).set(who.headers).send(body);
    const remove = () => request(app).delete(`${skills()}/sewing`).set(cast.agent.headers);
    for (const key of ['skills.manage', 'files.write']) {
      await grant(key, false);
      expect((await put().expect(403)).body).toMatchObject({ error: `permission withheld: ${key}` });
      await remove().expect(403);
      await put(cast.admin).expect(200);
      await grant(key, true);
    }
    await put().expect(200);
    await remove().expect(204);
  });

  const content = '---\nname: Binding\ndescription: How books are bound.\n---\n# Binding\n';

  it('is added once however often its request is sent with one key, and leaves one file', async () => {
    const skill = { slug: 'knots', content: '---\nname: knots\ndescription: Ties.\n---\nTie.' };
    const before = (await stored()).length;
    const send = async () =>
      request(app).post(skills()).set(cast.admin.headers).set('Idempotency-Key', 'knots-1').send(skill);
    const answers = [await send(), await send()];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [201, expect.objectContaining({ slug: 'knots' })],
      [201, answers[0]!.body],
    ]);
    expect(answers[1]!.headers['idempotency-replayed']).toBe('true');
    expect((await stored()).length).toBe(before + 1);
    await request(app).delete(`${skills()}/knots`).set(cast.admin.headers).expect(204);
  });

  it('is added once, read, written again, and deleted', async () => {
    const added = { slug: 'binding', content };
    const create = async () => request(app).post(skills()).set(cast.agent.headers).send(added);
    const made = await create();
    expect([made.status, made.body]).toEqual([
      201,
      {
        slug: 'binding',
        name: 'Binding',
        description: 'How books are bound.',
        content,
        updated_at: expect.any(String),
      },
    ]);
    expect((await create()).status).toBe(409);
    expect((await get(skills()).expect(200)).body).toEqual([made.body]);
    const put = (slug: string, body: object) =>
      request(app).put(`${skills()}/${slug}`).set(cast.agent.headers).send(body);
    const longer = `${content}\nWith thread.\n`;
    expect((await put('binding', { content: longer }).expect(200)).body.content).toBe(longer);
    expect((await get(`${skills()}/binding`).expect(200)).body.content).toBe(longer);
    await put('binding', { slug: 'other', content }).expect(400);
    await put('..%2fx', { content }).expect(400);
    await put('Bad_Slug', { content }).expect(400);
    await put('new-one', { content }).expect(200);
    await put('no-skill', { content: 'no front matter' }).expect(400);
    await get(`${skills()}/no-skill`).expect(404);
    await request(app).delete(`${skills()}/binding`).set(cast.agent.headers).expect(204);
    await get(`${skills()}/binding`).expect(404);
  });
});

describe('paths of an agent’s files', () => {
  it('are a file’s or a folder’s, never both: the second one is 409', async () => {
    await upload('one', 'a.txt', 'both').expect(201);
    const refused = await upload('two', 'a.txt', 'both/below').expect(409);
    expect(refused.body.error).toContain('both');
    await upload('three', 'a.txt', 'folder/deep/file').expect(201);
    await upload('four', 'a.txt', 'folder/deep').expect(409);
    await upload('five', 'a.txt', 'folder').expect(409);
    // Names that only share a prefix are different folders.
    await upload('six', 'a.txt', 'folder-two').expect(201);
    await upload('seven', 'a.txt', 'both').expect(201);
  });
});

describe('files of an agent with secrets.use', () => {
  it('are written by itself and by admins, its skills by admins alone', async () => {
    const keep = async (yes: boolean) =>
      request(app)
        .patch(`/api/agents/${cast.agent_id}/permissions`)
        .set(cast.admin.headers)
        .send({ 'secrets.use': yes })
        .expect(200);
    await keep(true);
    const put = (who: { headers: Record<string, string> }) =>
      request(app).post(files()).set(who.headers).field('path', 'kept').attach('file', Buffer.from('x'), 'x');
    const skill = { slug: 'kept', content: '---\nname: Kept\ndescription: How to.\n---\nWork.' };
    await put(cast.member).expect(403);
    await put(cast.agent).expect(201);
    await put(cast.admin).expect(201);
    await request(app).delete(`${files()}/kept`).set(cast.member.headers).expect(403);
    await request(app).post(skills()).set(cast.member.headers).send(skill).expect(403);
    await request(app).post(skills()).set(cast.admin.headers).send(skill).expect(201);
    await keep(false);
    await request(app).delete(`${files()}/kept`).set(cast.member.headers).expect(204);
    await request(app).delete(`${skills()}/kept`).set(cast.member.headers).expect(204);
  });
});
