/** `Idempotency-Key` (decisions 8.5): one effect however often a request is sent. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { BEARER, endpoint } from '@acp/contract';
import { schema } from '@acp/db';
import type { Database } from '@acp/db';
import { conflict, createLogger, loadConfig, newId } from '@acp/kernel';
import { testDatabase } from '@acp/testkit';
import { eq, like, sql } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { Type } from 'typebox';
import { createApp } from '../../apps/web/src/app.ts';
import { handle } from '../../apps/web/src/http/handle.ts';
import type { Context } from '../../apps/web/src/http/handle.ts';
import { createCast } from './cast.ts';
import type { Caller, Cast } from './cast.ts';

const { idempotency_keys, labels } = schema;
const row = {
  method: 'POST',
  auth: BEARER,
  role: 'member',
  scope: { by: 'company', param: 'companyId' },
  body: Type.Object({ name: Type.String() }),
  response: Type.Object({ id: Type.String() }),
  status: 201,
  tx: 'write',
  doc: '',
} as const;

const create = endpoint({ ...row, id: 'test.create', path: '/api/companies/{companyId}/things' });
const mint = endpoint({
  ...row,
  id: 'test.mint',
  path: '/api/companies/{companyId}/keys',
  issues_secret: 'id',
});
const mintSilently = endpoint({
  ...row,
  id: 'test.mint-silently',
  path: '/api/companies/{companyId}/silent-keys',
  issues_secret: 'raw_key',
});
const remove = endpoint({
  ...row,
  id: 'test.remove',
  path: '/api/companies/{companyId}/removals',
  response: null,
  status: 204,
});

type Input = Pick<Context<typeof create>, 'tx' | 'company_id' | 'body'>;
let fail = false;
let database: Database;
let app: Express;
let cast: Cast;

async function make({ tx, company_id, body }: Input) {
  const [label] = await tx.insert(labels).values({ company_id, name: body.name }).returning();
  if (fail) throw conflict('not now');
  return { id: label!.id };
}

beforeAll(async () => {
  ({ database } = await testDatabase());
  cast = await createCast(database);
  app = createApp({
    database,
    logger: createLogger({ level: 'error', format: 'json', role: 'test' }),
    config: loadConfig({ RATE_LIMIT_RPM: '0' }),
    routes: [
      handle(create, make),
      handle(mint, make),
      handle(mintSilently, make),
      handle(remove, async (c) => void (await make(c))),
    ],
  });
});

function post(
  path: string,
  key: string,
  name: string,
  caller: Caller = cast.member,
  company = cast.company_id,
) {
  const sent = request(app).post(`/api/companies/${company}/${path}`).set(caller.headers);
  return sent.set('Idempotency-Key', key).send({ name });
}

const countOf = async (name: string) => database.db.$count(labels, eq(labels.name, name));

describe('a request with an Idempotency-Key', () => {
  it('comes twice: one effect, the same answer, and it says so', async () => {
    const [key, name] = [newId(), newId()];
    const first = await post('things', key, name).expect(201);
    const second = await post('things', key, name).expect(201, first.body);
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    expect(second.headers['idempotency-replayed']).toBe('true');
    await expect(countOf(name)).resolves.toBe(1);
  });

  it('comes several times at once: one effect', async () => {
    const [key, name] = [newId(), newId()];
    const answers = await Promise.all([1, 2, 3, 4].map(async () => post('things', key, name)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
    await expect(countOf(name)).resolves.toBe(1);
  });

  it('comes with another body or for another company: 409', async () => {
    const [key, name] = [newId(), newId()];
    await post('things', key, name).expect(201);
    const error = 'Idempotency-Key was used with another request';
    await post('things', key, newId()).expect(409, { error });
    await post('things', key, name, cast.instance_admin, cast.other_company_id).expect(201);
    await post('things', key, name, cast.instance_admin).expect(409, { error });
  });

  it('is another caller’s, or for another operation: a key of its own', async () => {
    const key = newId();
    await post('things', key, newId(), cast.member).expect(201);
    await post('things', key, newId(), cast.agent).expect(201);
    await post('removals', key, newId(), cast.member).expect(204);
  });

  it('failed: nothing is kept, the repeat is tried afresh', async () => {
    const [key, name] = [newId(), newId()];
    fail = true;
    await post('things', key, name).expect(409, { error: 'not now' });
    fail = false;
    await expect(countOf(name)).resolves.toBe(0);
    await post('things', key, name).expect(201);
  });

  it('answers without a body: the repeat too', async () => {
    const [key, name] = [newId(), newId()];
    await post('removals', key, name).expect(204);
    const { headers } = await post('removals', key, name).expect(204);
    expect(headers['idempotency-replayed']).toBe('true');
  });

  it('showed a secret: it is not kept, the repeat is 409', async () => {
    const [key, name] = [newId(), newId()];
    const { body } = await post('keys', key, name).expect(201);
    await post('keys', key, name).expect(409, { error: 'already issued' });
    const kept = await database.db.$count(
      idempotency_keys,
      like(sql`${idempotency_keys.body}::text`, `%${body.id}%`),
    );
    expect(kept).toBe(0);
  });

  it('could have shown a secret and did not: it is kept as any other', async () => {
    const [key, name] = [newId(), newId()];
    const first = await post('silent-keys', key, name).expect(201);
    await post('silent-keys', key, name).expect(201, first.body);
  });

  it('is more than a day old: a new request', async () => {
    const [key, name] = [newId(), newId()];
    const first = await post('things', key, name).expect(201);
    await database.db
      .update(idempotency_keys)
      .set({ created_at: sql`now() - interval '25 hours'` })
      .where(like(sql`${idempotency_keys.body}::text`, `%${first.body.id}%`));
    await database.db.delete(labels).where(eq(labels.name, name));
    const second = await post('things', key, name).expect(201);
    expect(second.body.id).not.toBe(first.body.id);
  });

  it.each(['', ' ', 'a b', 'ü', 'x'.repeat(256)])('has the key "%s": 400', async (key) => {
    await post('things', key, newId()).expect(400, { error: 'invalid Idempotency-Key' });
  });
});
