/** Rights that are lost while a request is under way, or in another process: the act is judged by those at its end. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addMember,
  createSkill,
  deleteAgentKey,
  deleteBoardUserKey,
  findAgentKey,
  mintBoardUserKey,
  removeMember,
  systemActor,
} from '@acp/core';
import { type Database, schema, type Tx, transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import {
  createIssue,
  databaseWithQueue,
  testDatabase,
  testLogger,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { eq, inArray, sql } from 'drizzle-orm';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials, dropRevokedImmediately } from '../../apps/web/src/http/credentials.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import { type Caller, type Cast, createCast, person } from './cast.ts';

const { agents, board_user_keys, issues, secrets, skills } = schema;
const director = systemActor('tests');

let database: Database;
let cast: Cast;
let server: Server;
/** The tier in another process, which no revocation has reached yet. */
let elsewhere: Server;

beforeAll(async () => {
  const kit = await testDatabase();
  database = await databaseWithQueue();
  const tier = (here: boolean): Server => {
    const logger = testLogger();
    const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
    const credentials = createCredentials({ database, logger });
    if (here) database.notifier = dropRevokedImmediately(kit.notifier, credentials);
    const ui = uiRouter({ config, database, credentials, logger });
    return createServer(createApp({ database, logger, config, credentials, ui }));
  };
  server = tier(true).listen(0, '127.0.0.1');
  elsewhere = tier(false).listen(0, '127.0.0.1');
  await Promise.all([once(server, 'listening'), once(elsewhere, 'listening')]);
  cast = await createCast(database);
});

afterAll(() => {
  for (const each of [server, elsewhere]) {
    each.close();
    each.closeAllConnections();
  }
});

const FORM = 'application/x-www-form-urlencoded';

const within = async <T>(act: (tx: Tx) => Promise<T>) => transaction(database, act);
const member = async (role: 'admin' | 'member') =>
  within((tx) => person(tx, 'member', cast.company_id, role));
const dismiss = async ({ user_id }: { user_id: string }) =>
  within((tx) => removeMember(tx, director, cast.company_id, user_id));

/** Sends a request but for its body's last byte. @returns what sends that, and resolves with the response */
async function hold(
  { headers }: Caller,
  path: string,
  body: string,
  { type = 'application/json', method = 'POST' } = {},
) {
  // Known from now on, so that nothing but the lines below must be waited for.
  await request(server).get(`/api/companies/${cast.company_id}/issues`).set(headers).expect(200);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const lines = Object.entries({
    ...headers,
    Host: 'x',
    'Sec-Fetch-Site': 'same-origin',
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body.slice(0, -1)}`);
  // The server has read those lines once it has answered a request that was sent after them.
  await request(server).get('/login').expect(200);
  return async () => {
    socket.write(body.slice(-1));
    return Number((await text(socket)).split(' ')[1]);
  };
}

it('an admin who is removed before the end of the body mints no key', async () => {
  const ada = await member('admin');
  const path = `/api/companies/${cast.company_id}/board-user-keys`;
  const held = await hold(ada, path, JSON.stringify({ role: 'admin', label: 'kept' }));
  await dismiss(ada);
  expect(await held()).toBe(404);
  expect(await database.db.$count(board_user_keys, eq(board_user_keys.label, 'kept'))).toBe(0);
});

it('an admin who is made a viewer before the end of a form stores no secret', async () => {
  const ada = await member('admin');
  const path = `/companies/${cast.company_id}/secrets`;
  const held = await hold(ada, path, 'name=PLANTED&value=x', { type: FORM });
  await dismiss(ada);
  await within((tx) => addMember(tx, director, cast.company_id, { user_id: ada.user_id, role: 'viewer' }));
  expect(await held()).toBe(403);
  expect(await database.db.$count(secrets, eq(secrets.name, 'PLANTED'))).toBe(0);
});

it('a key that is revoked before the end of the body does nothing', async () => {
  const path = `/api/companies/${cast.company_id}/issues`;
  const held = await hold(cast.agent, path, JSON.stringify({ title: 'Too late' }));
  await within(async (tx) => deleteAgentKey(tx, director, (await findAgentKey(tx, cast.agent.key_id))!));
  expect(await held()).toBe(401);
});

describe('what changes before the end of the body', () => {
  it('is what the act is about: a skill that all agents have by then takes an admin where one of them has secrets.use', async () => {
    const { company_id } = cast;
    const make = async (slug: string) =>
      within((tx) =>
        createSkill(tx, director, company_id, { slug, name: slug, description: 'd', body_markdown: 'good' }),
      );
    const [one, other] = [await make('one'), await make('other')];
    const held = [
      await hold(cast.member, `/api/skills/${one.id}`, JSON.stringify({ body_markdown: 'bad' }), {
        method: 'PATCH',
      }),
      await hold(cast.member, `/skills/${other.id}`, 'body_markdown=bad', { type: FORM }),
    ];
    const { permissions } = (await database.db.select().from(agents).where(eq(agents.id, cast.agent_id)))[0]!;
    const allow = async (values: Record<string, boolean>) =>
      database.db.update(agents).set({ permissions: values }).where(eq(agents.id, cast.agent_id));
    await allow({ ...permissions, 'secrets.use': true });
    await database.db.update(skills).set({ company_wide: true }).where(eq(skills.company_id, company_id));
    expect([await held[0]!(), await held[1]!()]).toEqual([403, 403]);
    const texts = await database.db
      .select({ text: skills.body_markdown })
      .from(skills)
      .where(inArray(skills.id, [one.id, other.id]));
    expect(texts.map(({ text: now }) => now)).toEqual(['good', 'good']);
    await allow(permissions);
  });

  it('is gone for the act: an issue that is in the trash by then gets no comment', async () => {
    const issue = await createIssue(database.db, { id: cast.company_id });
    const held = await hold(
      cast.member,
      `/api/issues/${issue.id}/comments`,
      JSON.stringify({ body_markdown: 'Late' }),
    );
    await database.db.update(issues).set({ deleted_at: new Date() }).where(eq(issues.id, issue.id));
    expect(await held()).toBe(404);
  });
});

it('whoever keeps the rights is not disturbed', async () => {
  const path = `/api/companies/${cast.company_id}/issues`;
  const held = await hold(cast.member, path, JSON.stringify({ title: 'In time' }));
  expect(await held()).toBe(201);
});

it('another process that knows of no revocation yet mints no key for it, and changes nothing that takes an admin', async () => {
  const ada = await member('admin');
  const key = await within((tx) => mintBoardUserKey(tx, director, cast.company_id, { role: 'admin' }));
  const bearer = { headers: { Authorization: `Bearer ${key.raw_key}` } };
  const mint = async (who: Caller) =>
    request(elsewhere)
      .post(`/api/companies/${cast.company_id}/agent-api-keys`)
      .set(who.headers)
      .send({ agent_id: cast.agent_id });
  expect([(await mint(ada)).status, (await mint(bearer)).status]).toEqual([201, 201]);
  await dismiss(ada);
  await within((tx) => deleteBoardUserKey(tx, director, cast.company_id, key.id));
  expect([(await mint(ada)).status, (await mint(bearer)).status]).toEqual([404, 401]);
});

describe('whoever waits for the changes of others and is removed meanwhile', () => {
  const listed = async () =>
    request(server).get(`/api/companies/${cast.company_id}/issues`).set(cast.admin.headers).expect(200);

  it.each<[string, (who: Caller, name: string) => request.Test]>([
    [
      'the API',
      ({ headers }, title) =>
        request(server).post(`/api/companies/${cast.company_id}/issues`).set(headers).send({ title }),
    ],
    [
      'a form',
      ({ headers }, name) =>
        request(server)
          .post(`/companies/${cast.company_id}/secrets`)
          .set({ ...headers, 'Sec-Fetch-Site': 'same-origin' })
          .type('form')
          .send({ name, value: 'x' }),
    ],
  ])('creates nothing by %s', async (_way, send) => {
    const ada = await member('admin');
    const statusOf = async (who: Caller, name: string): Promise<number> =>
      send(who, name).then(({ status }) => status);
    const { crowd, late } = await within(async (tx) => {
      await tx.execute(sql`select from companies where id = ${cast.company_id} for update`);
      // More than may change the company at once.
      const others = Array.from({ length: 40 }, async (_, n) => statusOf(cast.admin, `CROWD_${n}`));
      await waitFor(async () => (await waitingForLocks(database)) > 0);
      for (let n = 0; n < 3; n += 1) await listed();
      const last = statusOf(ada, 'OUTRUN');
      // Its sender and company are read by then.
      for (let n = 0; n < 3; n += 1) await listed();
      await removeMember(tx, director, cast.company_id, ada.user_id);
      return { crowd: others, late: last };
    });
    expect((await Promise.all(crowd)).every((status) => status < 400)).toBe(true);
    expect(await late).toBe(404);
    expect(await database.db.$count(issues, eq(issues.title, 'OUTRUN'))).toBe(0);
    expect(await database.db.$count(secrets, eq(secrets.name, 'OUTRUN'))).toBe(0);
  });
});
