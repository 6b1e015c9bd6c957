/** The pipeline with a few rows of its own: behaviour common to all endpoints, whatever their slice. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BEARER, endpoint, roleIn } from '@acp/contract';
import { openDatabase, schema } from '@acp/db';
import type { Database } from '@acp/db';
import { conflict, createLogger, loadConfig, newApiKey, newId } from '@acp/kernel';
import { testDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express, Request, Response } from 'express';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import request from 'supertest';
import { Type } from 'typebox';
import { createApp } from '../../apps/web/src/app.ts';
import { handle } from '../../apps/web/src/http/handle.ts';
import { listen } from '../../apps/web/src/http/server.ts';
import { bearer, createCast } from './cast.ts';
import type { Cast } from './cast.ts';

const { companies } = schema;
const Named = Type.Object({ name: Type.String() });
const open = { auth: [], role: 'none', scope: { by: 'none' }, tx: 'none', status: 200, doc: '' } as const;
const inCompany = {
  auth: BEARER,
  role: 'member',
  scope: { by: 'company', param: 'companyId' },
  doc: '',
} as const;

const rows = {
  list: endpoint({
    ...open,
    id: 'test.list',
    method: 'GET',
    path: '/api/test',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1 })),
      cursor: Type.Optional(Type.String()),
      q: Type.Optional(Type.String()),
    }),
    response: Type.Object({ limit: Type.Integer() }),
    paged: true,
  }),
  echo: endpoint({
    ...open,
    id: 'test.echo',
    method: 'POST',
    path: '/api/test',
    body: Type.Object({ name: Type.String(), config: Type.Optional(Type.Unknown()) }),
    response: Type.Unknown(),
  }),
  param: endpoint({
    ...open,
    id: 'test.param',
    method: 'GET',
    path: '/api/test/roles/{role}',
    response: Named,
  }),
  list_of: endpoint({
    ...open,
    id: 'test.list-of',
    method: 'GET',
    path: '/api/test/lists/{key}/{rest*}',
    response: Type.Array(Type.String()),
    paged: true,
  }),
  caller: endpoint({
    ...open,
    id: 'test.caller',
    method: 'GET',
    path: '/api/test/caller',
    response: Type.Unknown(),
  }),
  consume: endpoint({
    ...inCompany,
    id: 'test.consume',
    method: 'GET',
    path: '/api/companies/{companyId}/consume',
    response: Named,
    status: 200,
    tx: 'write',
  }),
  fail: endpoint({ ...open, id: 'test.fail', method: 'GET', path: '/api/test/fail', response: Named }),
  leak: endpoint({ ...open, id: 'test.leak', method: 'GET', path: '/api/test/leak', response: Named }),
  rename: endpoint({
    ...inCompany,
    id: 'test.rename',
    method: 'PUT',
    path: '/api/companies/{companyId}/name',
    body: Named,
    response: Named,
    status: 200,
    tx: 'write',
  }),
};

const failures: Record<string, () => unknown> = {
  defect: () => {
    throw new Error('the secret inside');
  },
  conflict: () => {
    throw conflict('conflict', { message: 'already checked out' });
  },
  database: () => {
    throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  },
};
let failure: (context: { request: Request; response: Response }) => unknown = failures.defect!;

const routes = [
  handle(rows.list, (c) => {
    c.nextPage(c.query.q === 'more' ? 'next-one' : null);
    return { limit: c.query.limit ?? 50 };
  }),
  handle(rows.echo, (c) => c.body),
  handle(rows.param, (c) => ({ name: c.params.role! })),
  handle(rows.list_of, (c) => {
    c.nextPage('next-one');
    return [];
  }),
  handle(rows.caller, ({ actor, company_id }) => ({
    kind: actor.kind,
    role: roleIn(actor, company_id) ?? 'none',
  })),
  handle(rows.consume, async (c) => {
    await c.tx.update(companies).set({ name: 'consumed' }).where(eq(companies.id, c.company_id));
    return { name: 'consumed' };
  }),
  handle(rows.fail, (c) => failure(c) as { name: string }),
  handle(rows.leak, () => ({ name: 'x', password_hash: 'y' })),
  handle(rows.rename, async (c) => {
    await c.tx.update(companies).set({ name: c.body.name }).where(eq(companies.id, c.company_id));
    if (c.body.name === 'refused') throw conflict('refused after the write');
    return c.body;
  }),
];

let database: Database;
let app: Express;
let cast: Cast;
const logged: string[] = [];

beforeAll(async () => {
  ({ database } = await testDatabase());
  cast = await createCast(database);
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      logged.push(String(chunk));
      done();
    },
  });
  app = createApp({
    database,
    logger: createLogger({ level: 'debug', format: 'json', role: 'test', stream }),
    config: { ...loadConfig({ RATE_LIMIT_RPM: '0', LOG_LEVEL: 'debug' }) },
    routes,
    validate_responses: true,
  });
});

afterAll(() => {
  failure = failures.defect!;
});

const nameOf = async () =>
  (await database.db.select().from(companies).where(eq(companies.id, cast.company_id)))[0]?.name;

describe('paths', () => {
  it.each(['/api/nothing', '/api/test/', '/api', '/api/test/roles/a/b', '/nothing'])(
    'anybody asks for the unknown %s: 404',
    async (path) => {
      await request(app).get(path).expect(404, { error: 'not found' });
    },
  );

  it('anybody uses another method of a known path: 405 with Allow', async () => {
    const { headers } = await request(app).patch('/api/test').expect(405, { error: 'method not allowed' });
    expect(headers.allow).toBe('GET, HEAD, POST');
  });

  it('anybody sends bad percent-encoding: 400', async () => {
    await request(app).get('/api/test/roles/%zz').expect(400, { error: 'malformed URL' });
    await request(app).get('/%').expect(404);
  });

  it('anybody sends a NUL in a path: 404', async () => {
    await request(app).get('/api/test/roles/a%00b').expect(404);
  });

  it('anybody sends an encoded path parameter: the handler sees it decoded', async () => {
    await request(app).get('/api/test/roles/a%20b').expect(200, { name: 'a b' });
  });

  it('a member names a company by no UUID: 404', async () => {
    const named = request(app).put('/api/companies/nonsense/name').set(cast.member.headers);
    await named.send({ name: 'x' }).expect(404, { error: 'not found' });
  });

  it('a member writes the id in upper case: it is the same company', async () => {
    const path = `/api/companies/${cast.company_id.toUpperCase()}/name`;
    await request(app).put(path).set(cast.member.headers).send({ name: 'upper' }).expect(200);
  });

  it('anybody asks for the head of a list: 200 without a body', async () => {
    const { text, headers } = await request(app).head('/api/test').expect(200);
    expect(text).toBeUndefined();
    expect(headers['content-length']).toBe('12');
  });
});

describe('callers', () => {
  it('nobody calls a public row: an anonymous actor, who is admin nowhere', async () => {
    await request(app).get('/api/test/caller').expect(200, { kind: 'anonymous', role: 'none' });
  });

  it('a member asks for the head of a reading that consumes something: nothing is consumed', async () => {
    await rename('before').expect(200);
    const path = `/api/companies/${cast.company_id}/consume`;
    const { headers } = await request(app).head(path).set(cast.member.headers).expect(200);
    expect(headers['content-length']).toBe(String('{"name":"consumed"}'.length));
    await expect(nameOf()).resolves.toBe('before');
    await request(app).get(path).set(cast.member.headers).expect(200);
    await expect(nameOf()).resolves.toBe('consumed');
  });
});

describe('queries', () => {
  it('numbers arrive as text: coerced', async () => {
    await request(app).get('/api/test?limit=7').expect(200, { limit: 7 });
  });

  it('parameters without a value count as absent', async () => {
    await request(app).get('/api/test?limit=&q=').expect(200, { limit: 50 });
  });

  it.each(['limit=0', 'limit=x', 'limit=1&limit=2', 'q=a%00b', 'limit=1e999'])('?%s: 400', async (query) => {
    const { body } = await request(app).get(`/api/test?${query}`).expect(400);
    expect(body).toEqual({ error: expect.any(String) });
  });

  it('there is a next page: its cursor and its address', async () => {
    const { headers } = await request(app).get('/api/test?q=more&limit=2&cursor=old').expect(200);
    expect(headers['x-next-cursor']).toBe('next-one');
    expect(headers.link).toBe('</api/test?q=more&limit=2&cursor=next-one>; rel="next"');
  });

  it('the query has a question mark in it: so does the link to the next page', async () => {
    const { headers } = await request(app).get('/api/test/lists/a/b?q=what?&limit=2').expect(200);
    expect(headers.link).toBe('</api/test/lists/a/b?q=what%3F&limit=2&cursor=next-one>; rel="next"');
  });

  it.each([
    ['%D0%BA%D0%BB%D1%8E%D1%87/a', '%D0%BA%D0%BB%D1%8E%D1%87/a'],
    ['a%20b%3Fc%25d%2Fe/f%20g/h', 'a%20b%3Fc%25d%2Fe/f%20g/h'],
  ])('the next page of a list below %s: its address is encoded', async (path, expected) => {
    const { headers } = await request(app).get(`/api/test/lists/${path}`).expect(200);
    expect(headers.link).toBe(`</api/test/lists/${expected}?cursor=next-one>; rel="next"`);
  });

  it('there is no next page: neither header', async () => {
    const { headers } = await request(app).get('/api/test').expect(200);
    expect(headers).not.toHaveProperty('x-next-cursor');
    expect(headers).not.toHaveProperty('link');
  });
});

function post() {
  return request(app).post('/api/test');
}

function raw(text: string, type = 'application/json') {
  return post().set('Content-Type', type).send(text);
}

describe('bodies', () => {
  it.each([
    ['no JSON', '{"name":'],
    ['a bare value', '"name"'],
    ['null', 'null'],
    ['an array', '[]'],
    ['a wrong type', '{"name":1}'],
    ['a NUL', String.raw`{"name":"a\u0000"}`],
    ['a NUL in a key', String.raw`{"name":"a","config":{"\u0000":1}}`],
    ['half a surrogate pair', String.raw`{"name":"\ud800"}`],
    ['too much depth', `{"name":"a","config":${'['.repeat(5000)}${']'.repeat(5000)}}`],
  ])('anybody sends %s: 400', async (_what, text) => {
    const { body } = await raw(text).expect(400);
    expect(body).toEqual({ error: expect.any(String) });
  });

  it('anybody sends null for a field of what is created: it was left out, also where it is needed', async () => {
    const sent = { name: 'x', config: null };
    expect((await request(app).post('/api/test').send(sent)).body).toEqual({ name: 'x' });
    const refused = await request(app).post('/api/test').send({ name: null });
    expect([refused.status, refused.body]).toEqual([
      400,
      { error: "body must have required property 'name'" },
    ]);
  });

  it('anybody sends no body where one is due: 400', async () => {
    await post().expect(400, { error: 'a JSON body is required' });
  });

  it('anybody sends another content type: 400', async () => {
    await raw('name=x', 'application/x-www-form-urlencoded').expect(400, {
      error: 'the body must be application/json',
    });
  });

  it('anybody sends more than 1 MiB, announced or in chunks: 413', async () => {
    const large = JSON.stringify({ name: 'x'.repeat(1024 * 1024) });
    await raw(large).expect(413, { error: 'payload too large' });
    const chunked = post().set('Content-Type', 'application/json').set('Transfer-Encoding', 'chunked');
    chunked.write(large);
    await chunked.expect(413, { error: 'payload too large' });
  });

  it('anybody sends exactly 1 MiB: read', async () => {
    const frame = JSON.stringify({ name: '' }).length;
    const { body } = await raw(JSON.stringify({ name: 'x'.repeat(1024 * 1024 - frame) })).expect(200);
    expect(body.name).toHaveLength(1024 * 1024 - frame);
  });

  it.each([
    ['Content-Encoding', 'unknown'],
    ['Content-Type', 'application/json; charset=klingon'],
  ])('anybody sends %s: %s: 415', async (header, value) => {
    const sent = post().set('Content-Type', 'application/json').set(header, value).send('{"name":"x"}');
    const { body } = await sent.expect(415);
    expect(body).toEqual({ error: 'unsupported encoding of the body' });
  });

  it('anybody sends a key twice: the last value counts', async () => {
    await raw('{"name":"a","name":"b"}').expect(200, { name: 'b' });
  });

  it.each(['{"name":"a","__proto__":{"admin":true}}', '{"name":"a","more":[{"__proto__":1}]}'])(
    'anybody sends __proto__: 400, wherever it is: %s',
    async (text) => {
      await raw(text).expect(400, { error: 'no field is called __proto__' });
    },
  );
});

function rename(name: string) {
  return request(app).put(`/api/companies/${cast.company_id}/name`).set(cast.member.headers).send({ name });
}

describe('transactions', () => {
  it('a handler succeeds: its write is there', async () => {
    await rename('renamed').expect(200, { name: 'renamed' });
    await expect(nameOf()).resolves.toBe('renamed');
  });

  it('a handler fails after a write: nothing of it stays', async () => {
    await rename('kept').expect(200);
    await rename('refused').expect(409, { error: 'refused after the write' });
    await expect(nameOf()).resolves.toBe('kept');
  });
});

describe('errors and headers', () => {
  it('a handler has a defect: 500 without its message, logged once with the request id and no query', async () => {
    failure = failures.defect!;
    const id = newId();
    await request(app)
      .get('/api/test/fail?Authorization=secret-token')
      .set('X-Request-Id', id)
      .expect(500, { error: 'internal error' });
    const lines = logged.filter((line) => line.includes(id) && line.includes('"level":"error"'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('the secret inside');
    expect(logged.join('')).not.toContain('secret-token');
  });

  it('a reader hangs up before its answer: no error in the log', async () => {
    const served = Promise.withResolvers<unknown>();
    failure = async ({ request: asked, response }) => {
      controller.abort();
      await once(asked.socket, 'close');
      const sending = pipeline(Readable.from(['x']), response);
      sending.catch(served.resolve);
      return sending;
    };
    const controller = new AbortController();
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    const before = logged.length;
    await expect(fetch(`${server.url}/api/test/fail`, { signal: controller.signal })).rejects.toThrow(
      'aborted',
    );
    expect(await served.promise).toHaveProperty('code');
    await server.stop(1000);
    expect(logged.slice(before).filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  it('an error has more to say than its message: further fields', async () => {
    failure = failures.conflict!;
    const body = { error: 'conflict', message: 'already checked out' };
    await request(app).get('/api/test/fail').expect(409, body);
  });

  it('the database is away: 503', async () => {
    failure = failures.database!;
    await request(app).get('/api/test/fail').expect(503, { error: 'database unavailable' });
  });

  it('PostgreSQL is not there at all: 503 for whoever brings a key, 401 for whoever does not', async () => {
    const url = 'postgres://nobody@127.0.0.1:1/none';
    const away = openDatabase({ url, max: 1, application_name: 'away', connect_timeout_ms: 200 });
    const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
    const config = loadConfig({ RATE_LIMIT_RPM: '0' });
    const without = createApp({ database: away, logger, config });
    await request(without)
      .get('/api/me')
      .set(bearer(newApiKey()))
      .expect(503, { error: 'database unavailable' });
    await request(without).get('/api/me').expect(401);
    await away.close();
  });

  it('an answer shows more than its schema: a defect in tests', async () => {
    await request(app).get('/api/test/leak').expect(500);
  });

  it('every answer names its request: by the client’s name if it is sane, else by one of ours', async () => {
    const mine = await request(app).get('/api/test').set('X-Request-Id', 'mine-1');
    expect(mine.headers['x-request-id']).toBe('mine-1');
    const ours = await request(app).get('/api/nothing').set('X-Request-Id', 'a "quoted" one');
    expect(ours.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('every answer forbids inline script, foreign sources and frames, and does not tell what runs here', async () => {
    const { headers } = await request(app).get('/api/test');
    const policy = headers['content-security-policy'];
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('strict-transport-security');
  });
});
