/**
 * Files over HTTP, with the folder store and a real database: uploads, limits, downloads, logos.
 * @in-order one company has one logo: added, shown, removed
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { schema, transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import { databaseWithQueue, queuedJobs, waitFor } from '@acp/testkit';
import { desc, eq, inArray } from 'drizzle-orm';
import type { Express } from 'express';
import { Jimp } from 'jimp';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { listen } from '../../apps/web/src/http/server.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';

let home: string;
let store: LocalStorage;
let database: Database;
let app: Express;
let cast: Cast;
let issueId: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'acp-uploads-'));
  store = new LocalStorage(join(home, 'storage'));
  database = await databaseWithQueue();
  app = createApp({
    database,
    logger: createLogger({ level: 'error', format: 'pretty', role: 'test' }),
    config: loadConfig({
      RATE_LIMIT_RPM: '0',
      SERVICE_HOME: home,
      SERVICE_MAX_UPLOAD_SIZE: '2MB',
      SERVICE_ATTACHMENT_MAX_UPLOAD_BYTES: '1MB',
      SERVICE_ATTACHMENT_MAX_FILES_PER_REQUEST: '3',
    }),
    validate_responses: true,
  });
  cast = await createCast(database);
  const issue = await transaction(database, (tx) =>
    createIssue(tx, systemActor('tests'), cast.company_id, { title: 'With files' }),
  );
  issueId = issue.id;
});

afterAll(async () => rm(home, { recursive: true, force: true }));

const attach = (id = issueId, who: 'member' | 'agent' | 'viewer' = 'member') =>
  request(app).post(`/api/issues/${id}/attachments`).set(cast[who].headers);
const logo = () => `/api/companies/${cast.company_id}/logo`;
const putLogo = (bytes: Buffer, contentType: string, theme?: string) => {
  const sent = request(app).post(logo()).set(cast.admin.headers);
  if (theme !== undefined) void sent.field('theme', theme);
  return sent.attach('file', bytes, { filename: 'logo', contentType });
};
const create = () => request(app).post(`/api/companies/${cast.company_id}/issues`).set(cast.member.headers);
const get = (path: string) => request(app).get(path).set(cast.viewer.headers).buffer(true).parse(bytesOf);

const image = async (type: 'image/png' | 'image/jpeg' | 'image/gif') =>
  new Jimp({ width: 20, height: 20, color: 0xff0000ff }).getBuffer(type as 'image/png');

function bytesOf(response: request.Response, done: (error: Error | null, body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => done(null, Buffer.concat(chunks)));
}

/** Everything in the storage, including partial uploads. */
async function stored(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return [...keys, ...(await readdir(join(home, 'storage/tmp')).catch(() => []))].toSorted();
}

async function orphans(): Promise<string[]> {
  const rows = await database.db.select().from(schema.storage_orphans);
  return rows.map((row) => row.storage_key).filter((key) => key.includes(cast.company_id));
}

const issuesOf = async () =>
  (
    await database.db
      .select({ id: schema.issues.id })
      .from(schema.issues)
      .where(eq(schema.issues.company_id, cast.company_id))
  ).length;

/** Asserts that it changes nothing: no row, no byte, no orphan. */
async function leavesNothing(act: () => Promise<unknown>): Promise<void> {
  const before = [await stored(), await orphans(), await issuesOf()];
  await act();
  expect([await stored(), await orphans(), await issuesOf()]).toEqual(before);
}

it('the limit of a request holds for its fields and files together', async () => {
  const body_markdown = 'x'.repeat(900_000);
  await leavesNothing(async () => {
    const sent = create().field('title', 'Large').field('body_markdown', body_markdown);
    for (const filename of ['a', 'b']) void sent.attach('file', Buffer.alloc(600_000), { filename });
    await sent.expect(413);
  });
  const sent = create().field('title', 'Large').field('body_markdown', body_markdown);
  await sent.attach('file', Buffer.alloc(900_000), { filename: 'a' }).expect(201);
});

describe('attaching', () => {
  it('a member uploads a file: row, bytes, job and activity, and no orphan', async () => {
    const content = randomBytes(300_000);
    const { body } = await attach().attach('file', content, { filename: 'a report.pdf' }).expect(201);
    expect(body).toMatchObject({
      issue_id: issueId,
      company_id: cast.company_id,
      filename: 'a report.pdf',
      content_type: 'application/pdf',
      size_bytes: 300_000,
      created_by_user_id: cast.member.user_id,
      created_by_agent_id: null,
    });
    expect(await stored()).toContain(body.storage_key);
    expect(await orphans()).toEqual([]);
    expect(await queuedJobs(database.db, 'extract-text', { attachment_id: body.id })).toHaveLength(1);
    const [entry] = await database.db
      .select()
      .from(schema.activity)
      .where(eq(schema.activity.entity_id, body.id));
    expect(entry).toMatchObject({ action: 'attachment.created', entity_type: 'attachment' });
    const list = await request(app).get(`/api/issues/${issueId}/attachments`).set(cast.viewer.headers);
    expect(list.body).toContainEqual(body);
  });

  it('an agent uploads: the file is its own', async () => {
    const { body } = await attach(issueId, 'agent').attach('file', Buffer.from('x'), 'x.bin').expect(201);
    expect(body).toMatchObject({ created_by_agent_id: cast.agent_id, created_by_user_id: null });
  });

  it('several files under the name are answered in their order', async () => {
    const sent = attach()
      .attach('file', Buffer.from('1'), 'one.txt')
      .attach('file', Buffer.from('22'), 'two.txt');
    const { body } = await sent.expect(201);
    expect(body.map((each: { filename: string }) => each.filename)).toEqual(['one.txt', 'two.txt']);
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\x.txt', 'x.txt'],
    ['Résumé – 日本.txt', 'Résumé – 日本.txt'],
    ['a\u202Efdp.exe', 'afdp.exe'],
  ])('a client names the file %j: stored as %j', async (filename, expected) => {
    const { body } = await attach().attach('file', Buffer.from('x'), { filename }).expect(201);
    expect(body.filename).toBe(expected);
  });

  it('a file of exactly the limit is taken, one byte more is 413 and leaves nothing', async () => {
    await attach().attach('file', Buffer.alloc(1_000_000), 'x.bin').expect(201);
    await leavesNothing(async () => {
      const { body } = await attach().attach('file', Buffer.alloc(1_000_001), 'x.bin').expect(413);
      expect(body).toEqual({ error: 'file too large: 1 MB at most' });
    });
  });

  it('too many files, or too much in all: 413, and nothing of the first ones is kept', async () => {
    await leavesNothing(async () => {
      const many = attach();
      for (const name of ['1', '2', '3', '4']) void many.attach('file', Buffer.from(name), name);
      await many.expect(413, { error: 'too many files: 3 at most' });
      const much = attach();
      for (const name of ['1', '2', '3']) void much.attach('file', Buffer.alloc(900_000), name);
      await much.expect(413, { error: 'payload too large: 2 MB at most' });
    });
  });

  it('a body announced as huge is refused before it is read', async () => {
    await attach()
      .set('Content-Type', 'multipart/form-data; boundary=x')
      .set('Content-Length', '50000000')
      .send('--x--\r\n')
      .timeout(2000)
      .then(
        ({ status }) => expect(status).toBe(413),
        (error: Error) => expect(error.message).toMatch(/reset|timeout|aborted|EPIPE/i),
      );
  });

  it.each([
    ['JSON', 'application/json', '{}'],
    ['no boundary', 'multipart/form-data', 'x'],
    [
      'a body cut off',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
    ],
    [
      'no file',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n',
    ],
  ])('%s: 400, and nothing is kept', async (_what, type, body) => {
    await leavesNothing(async () => {
      const answer = await attach().set('Content-Type', type).send(body).expect(400);
      expect(answer.body).toEqual({ error: expect.any(String) });
    });
  });

  it('a file under another name: 400, and the good one beside it is not kept either', async () => {
    await leavesNothing(async () => {
      await attach().attach('file', Buffer.from('1'), '1').attach('other', Buffer.from('2'), '2').expect(400);
    });
  });

  it('a viewer, a stranger’s issue, an unknown one: refused before a byte is stored', async () => {
    await leavesNothing(async () => {
      await attach(issueId, 'viewer').attach('file', Buffer.from('x'), 'x').expect(403);
      await attach(newId()).attach('file', Buffer.from('x'), 'x').expect(404);
    });
  });

  it('the client goes away in the middle: nothing stays', async () => {
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    const before = [await stored(), await orphans()];
    const socket = connect(server.address.port, '127.0.0.1');
    const [[name, value]] = Object.entries(cast.member.headers) as [[string, string]];
    socket.write(
      `POST /api/issues/${issueId}/attachments HTTP/1.1\r\nHost: x\r\n${name}: ${value}\r\n` +
        'Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 900000\r\n\r\n' +
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' +
        'y'.repeat(200_000),
    );
    await waitFor(async () => (await orphans()).length > before[1]!.length);
    socket.destroy();
    await waitFor(async () => (await orphans()).length === before[1]!.length);
    expect(await stored()).toEqual(before[0]);
    await server.stop(1000);
  });
});

describe('creating an issue with files', () => {
  it('a member sends fields and files: the issue with its attachments', async () => {
    const sent = create()
      .field('title', 'From a form')
      .field('priority', 'high')
      .field('body_markdown', 'Please look')
      .field('project_id', '')
      .attach('first', Buffer.from('1'), 'one.txt')
      .attach('second', Buffer.from('2'), 'two.txt');
    const { body } = await sent.expect(201);
    expect(Object.keys(body)).toEqual(['issue', 'attachments', 'attachment_errors']);
    expect(body.attachment_errors).toBeNull();
    expect(body.issue).toMatchObject({ title: 'From a form', priority: 'high', project_id: null });
    expect(body.attachments).toMatchObject([
      { issue_id: body.issue.id, filename: 'one.txt' },
      { issue_id: body.issue.id, filename: 'two.txt' },
    ]);
  });

  it('a form without files: the same shape; JSON: the bare issue', async () => {
    const { body } = await create().field('title', 'No files').expect(201);
    expect(body).toMatchObject({ issue: { title: 'No files' }, attachments: [] });
    const json = await create().send({ title: 'JSON' }).expect(201);
    expect(json.body).toMatchObject({ title: 'JSON' });
  });

  it('too large, too many, without a title, of another project: refused, and nothing is left behind', async () => {
    await leavesNothing(async () => {
      await create().field('title', 'x').attach('f', Buffer.alloc(1_000_001), 'x').expect(413);
      const many = create().field('title', 'x');
      for (const name of ['1', '2', '3', '4']) void many.attach('f', Buffer.from(name), name);
      await many.expect(413);
      await create().attach('f', Buffer.from('x'), 'x').expect(400);
      await create()
        .field('title', 'x')
        .field('project_id', newId())
        .attach('f', Buffer.from('x'), 'x')
        .expect(400);
      await create().field('title', 'a').field('title', 'b').attach('f', Buffer.from('x'), 'x').expect(400);
      await create().field('title', 'x\0').attach('f', Buffer.from('x'), 'x').expect(400);
    });
  });

  it('the storage is away: the issue is made, and told which files are missing', async () => {
    const away = createApp({
      database,
      logger: createLogger({ level: 'error', format: 'pretty', role: 'test' }),
      config: loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_HOME: '/dev/null' }),
      validate_responses: true,
    });
    const sent = request(away).post(`/api/companies/${cast.company_id}/issues`).set(cast.member.headers);
    const { body } = await sent.field('title', 'x').attach('f', Buffer.from('x'), 'x.txt');
    expect(body).toMatchObject({
      issue: { title: 'x' },
      attachments: [],
      attachment_errors: [{ filename: 'x.txt', error: expect.any(String) }],
    });
  });
});

describe('downloading', () => {
  const content = Buffer.from('0123456789'.repeat(1000));
  let id: string;
  let path: string;

  beforeAll(async () => {
    const named = { filename: 'naïve "€".html', contentType: 'text/html' };
    const { body } = await attach().attach('file', content, named).expect(201);
    id = body.id;
    path = `/api/attachments/${id}/download`;
  });

  it('a viewer downloads: the bytes, under headers that let no browser run them', async () => {
    const { body, headers } = await get(path).expect(200);
    expect(body.equals(content)).toBe(true);
    expect(headers).toMatchObject({
      'content-type': 'text/html',
      'content-length': '10000',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
    });
    const disposition = headers['content-disposition'];
    expect(disposition).toMatch(/^attachment; /);
    expect(disposition).toContain("filename*=UTF-8''na%C3%AFve%20%22%E2%82%AC%22.html");
  });

  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=9990-', 9990, 10000],
    ['bytes=-5', 9995, 10000],
    ['bytes=9000-20000', 9000, 10000],
  ])('Range: %s gives that part', async (range, from, to) => {
    const { body, headers } = await get(path).set('Range', range).expect(206);
    expect(String(body)).toBe(String(content.subarray(from, to)));
    expect(headers['content-range']).toBe(`bytes ${from}-${to - 1}/10000`);
    expect(headers['content-length']).toBe(String(to - from));
  });

  it.each(['bytes=0-1,5-6', 'lines=1-2', 'nonsense', 'bytes=5-2'])(
    'Range: %s gives the whole',
    async (range) => {
      const { body } = await get(path).set('Range', range).expect(200);
      expect(body).toHaveLength(10_000);
    },
  );

  it('a range behind the end: 416 with the size', async () => {
    const { headers } = await get(path).set('Range', 'bytes=10000-').expect(416);
    expect(headers['content-range']).toBe('bytes */10000');
  });

  it('If-None-Match: nothing to who has these bytes, the whole to others', async () => {
    const { headers } = await get(path).expect(200);
    const etag = headers.etag!;
    for (const held of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
      const answer = await get(path).set('If-None-Match', held).set('Range', 'bytes=0-1').expect(304);
      expect([answer.headers.etag, answer.body]).toEqual([etag, Buffer.alloc(0)]);
    }
    await get(path).set('If-None-Match', '"another"').expect(200);
  });

  it('If-Range: of these bytes the part, of others the whole', async () => {
    const { headers } = await get(path);
    await get(path).set('Range', 'bytes=0-1').set('If-Range', headers.etag!).expect(206);
    await get(path).set('Range', 'bytes=0-1').set('If-Range', '"another"').expect(200);
  });

  it('the head of it: the same headers', async () => {
    const { headers } = await request(app).head(path).set(cast.viewer.headers).expect(200);
    expect(headers['content-length']).toBe('10000');
    expect(headers['content-disposition']).toMatch(/^attachment; /);
  });

  it('a member deletes it: row and file are gone', async () => {
    const { body } = await attach().attach('file', Buffer.from('x'), 'x').expect(201);
    await request(app).delete(`/api/attachments/${body.id}`).set(cast.viewer.headers).expect(403);
    await request(app).delete(`/api/attachments/${body.id}`).set(cast.member.headers).expect(204);
    expect(await stored()).not.toContain(body.storage_key);
    expect(await orphans()).toEqual([]);
    await get(`/api/attachments/${body.id}/download`).expect(404);
    await request(app).delete(`/api/attachments/${body.id}`).set(cast.member.headers).expect(404);
  });

  it('the bytes are missing: 404, as JSON', async () => {
    const { body } = await attach().attach('file', Buffer.from('x'), 'x').expect(201);
    await store.delete(body.storage_key);
    const answer = await request(app).get(`/api/attachments/${body.id}/download`).set(cast.viewer.headers);
    expect([answer.status, answer.body]).toEqual([404, { error: 'not found' }]);
  });
});

describe('the logo', () => {
  /** 1 × 1, lossless. */
  const webp = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');

  it('a company without one: 404, for the row, the image and its removal', async () => {
    await get(logo()).expect(404);
    await get(`${logo()}/image`).expect(404);
    await request(app).delete(logo()).set(cast.admin.headers).expect(404);
  });

  it.each(['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const)(
    'an admin uploads %s: the former file is gone, the image may be cached',
    async (type) => {
      const bytes = type === 'image/webp' ? webp : await image(type);
      const { body } = await putLogo(bytes, type, 'dark').expect(201);
      expect(body).toEqual({ asset_id: expect.any(String), theme: 'dark', updated_at: expect.any(String) });
      const about = await request(app).get(logo()).set(cast.viewer.headers).expect(200);
      expect(about.body).toEqual(body);
      const shown = await get(`${logo()}/image`).expect(200);
      expect(shown.body.equals(bytes)).toBe(true);
      expect(shown.headers).toMatchObject({
        'content-type': type,
        'cache-control': 'public, max-age=3600',
        'x-content-type-options': 'nosniff',
      });
      expect((await stored()).filter((key) => key.startsWith('logos/'))).toHaveLength(1);
    },
  );

  it('of another type, wrongly declared, damaged or too many pixels: 415, and the former logo stays', async () => {
    const { body } = await putLogo(await image('image/png'), 'image/png').expect(201);
    expect(body.theme).toBe('light');
    const png = await image('image/png');
    const wide = Buffer.from(png);
    wide.writeUInt32BE(2001, 16);
    for (const [bytes, type] of [
      [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
      [png, 'image/jpeg'],
      [Buffer.from('no image'), 'image/png'],
      [png.subarray(0, 40), 'image/png'],
      [wide, 'image/png'],
      [Buffer.alloc(0), 'image/gif'],
    ] as const)
      await putLogo(bytes, type).expect(415);
    const about = await request(app).get(logo()).set(cast.viewer.headers).expect(200);
    expect(about.body).toEqual(body);
  });

  it('whose header is all there is: 201', async () => {
    await putLogo(Buffer.from('R0lGODlhAQABAAAAACw=', 'base64'), 'image/gif').expect(201);
  });

  it.each(['image/png', 'image/jpeg', 'image/gif'] as const)(
    '%s of 1,000,000 bytes, whatever follows the image: 201; of one more: 413',
    async (type) => {
      const padded = Buffer.alloc(1_000_001);
      (await image(type)).copy(padded);
      await putLogo(padded.subarray(0, 1_000_000), type).expect(201);
      await putLogo(padded, type).expect(413);
      await putLogo(Buffer.alloc(1_000_000), type).expect(415);
    },
  );

  it('a bad theme or no file: 400; a member: 403', async () => {
    await putLogo(await image('image/png'), 'image/png', 'pink').expect(400);
    await request(app).post(logo()).set(cast.admin.headers).field('theme', 'dark').expect(400);
    await request(app).post(logo()).set(cast.member.headers).attach('file', webp, 'x').expect(403);
  });

  it('an admin removes it: row, asset and file are gone', async () => {
    await request(app).delete(logo()).set(cast.admin.headers).expect(204);
    await get(logo()).expect(404);
    await get(`${logo()}/image`).expect(404);
    expect((await stored()).filter((key) => key.startsWith('logos/'))).toEqual([]);
    expect(await orphans()).toEqual([]);
  });

  it('two admins upload at once: one logo, one file', async () => {
    const bytes = await image('image/png');
    await Promise.all([1, 2, 3, 4].map(async () => putLogo(bytes, 'image/png').expect(201)));
    expect((await stored()).filter((key) => key.startsWith('logos/'))).toHaveLength(1);
    const assets = await database.db
      .select()
      .from(schema.assets)
      .where(inArray(schema.assets.company_id, [cast.company_id]))
      .orderBy(desc(schema.assets.created_at));
    expect(assets).toHaveLength(1);
  });
});

describe('a file whose bytes were cut short', () => {
  it('is 503 before the first byte, for a part of it too', async () => {
    const made = await attach().attach('file', Buffer.from('0123456789'), 'short.txt').expect(201);
    const { storage_key, id } = made.body as { id: string; storage_key: string };
    await store.put(storage_key, new Blob(['012']).stream() as AsyncIterable<Uint8Array>, { max_bytes: 10 });
    for (const headers of [{}, { Range: 'bytes=0-1' }]) {
      const answer = request(app).get(`/api/attachments/${id}/download`).set(cast.member.headers);
      expect((await answer.set(headers)).status).toBe(503);
    }
  });
});
