/** User administration, roles and ways into a company over the API, and the effects on sessions and live streams. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUser, hashPassword } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { createLogger, loadConfig, newId, newToken } from '@acp/kernel';
import { databaseWithQueue, testDatabase, waitFor } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import request from 'supertest';
import { apiRoutes } from '../../apps/web/src/api/index.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials, dropRevokedImmediately } from '../../apps/web/src/http/credentials.ts';
import { LiveHub } from '../../apps/web/src/live/hub.ts';
import { liveRoutes } from '../../apps/web/src/live/routes.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import { createCast } from './cast.ts';
import type { Caller, Cast } from './cast.ts';

const { users } = schema;
const password = 'a right password';

let database: Database;
let app: Express;
let hub: LiveHub;
let server: Server;
let cast: Cast;

beforeAll(async () => {
  const kit = await testDatabase();
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  const credentials = createCredentials({ database, logger, listener: kit.listener });
  await kit.listener.ready();
  database.notifier = dropRevokedImmediately(kit.notifier, credentials);
  hub = new LiveHub({ database, listener: kit.listener, logger });
  app = createApp({
    database,
    logger,
    config,
    credentials,
    routes: [...apiRoutes, ...liveRoutes(hub)],
    ui: uiRouter({ config, database, credentials, logger }),
    validate_responses: true,
  });
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cast = await createCast(database);
});

afterAll(() => {
  hub.close();
  server.close();
  server.closeAllConnections();
});

type Method = 'get' | 'post' | 'patch' | 'delete';
async function call(who: Caller, method: Method, path: string, body?: object) {
  const sent = request(app)[method](path).set(who.headers);
  return body === undefined ? sent : sent.send(body);
}

/** Creates a user who can sign in, with one open session. */
async function account() {
  const email = `${newId()}@example.com`;
  const password_hash = await hashPassword(password);
  const user = { email, display_name: 'A User', password_hash, instance_role: 'member' } as const;
  const { id } = await transaction(database, (tx) => createUser(tx, user));
  return { id, email, session: await signIn(email) };
}

async function signIn(email: string, typed = password): Promise<Caller> {
  const { status, headers } = await request(app).post('/login').type('form').send({ email, password: typed });
  if (status !== 303) throw new Error(`login answered ${status}`);
  const cookies = headers['set-cookie'] as unknown as string[];
  return { headers: { Cookie: cookies[0]!.split(';')[0]! } };
}

const alive = async (who: Caller) => (await call(who, 'get', '/api/me')).status === 200;

/** Opens a live stream; `ended` tells whether the server has closed it. */
async function listen(who: Caller) {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/api/live/events`, { headers: who.headers });
  expect(response.status).toBe(200);
  const state = { ended: false };
  const drain = async () => {
    const reader = response.body!.getReader();
    while (!(await reader.read()).done);
    state.ended = true;
  };
  void drain().catch(() => undefined);
  return state;
}

describe('one’s own account', () => {
  it('a user changes name and e-mail: the answer of the specification; other sessions and their streams end', async () => {
    const { id, email, session } = await account();
    const other = await signIn(email);
    const [here, there] = [await listen(session), await listen(other)];
    const next = `${newId()}@example.com`;
    const { status, body } = await call(session, 'patch', '/api/me', { email: next, display_name: 'Ada' });
    expect({ status, body }).toEqual({
      status: 200,
      body: { id, email: next, display_name: 'Ada', instance_role: 'member' },
    });
    expect([await alive(session), await alive(other)]).toEqual([true, false]);
    await waitFor(() => there.ended, { timeout_ms: 20_000 });
    expect(here.ended).toBe(false);
    expect((await call(session, 'get', '/api/me')).body).toMatchObject({ email: next, display_name: 'Ada' });
  });

  it.each([{ email: 'none' }, { display_name: ' ' }, { email: null }])('sends %j: 400', async (body) => {
    expect((await call(cast.viewer, 'patch', '/api/me', body)).status).toBe(400);
  });

  it('a user raises the own role: the field is passed over', async () => {
    const { session } = await account();
    const { body } = await call(session, 'patch', '/api/me', { instance_role: 'admin', is_active: false });
    expect(body).toMatchObject({ instance_role: 'member' });
    expect((await call(session, 'get', '/api/users')).status).toBe(403);
  });

  it('the password changes: message, other sessions end, the new one counts', async () => {
    const { email, session } = await account();
    const other = await signIn(email);
    const form = { current_password: password, new_password: 'another password' };
    const { status, body } = await call(session, 'post', '/api/me/change-password', form);
    expect({ status, body }).toEqual({ status: 200, body: { message: 'password changed' } });
    expect([await alive(session), await alive(other)]).toEqual([true, false]);
    await expect(signIn(email)).rejects.toThrow('401');
    expect(await alive(await signIn(email, 'another password'))).toBe(true);
  });

  describe('the sign-in is older than 15 minutes', () => {
    const stale = async () => {
      const user = await account();
      await database.pool.query(
        `update sessions set created_at = created_at - interval '16 minutes' where user_id = $1`,
        [user.id],
      );
      return user;
    };

    it('the address changes by the current password only: else 403, and nothing changes', async () => {
      const { email, session } = await stale();
      const next = `${newId()}@example.com`;
      for (const [body, status] of [
        [{ email: next }, 403],
        [{ email: next, current_password: 'wrong' }, 403],
        [{ email, display_name: 'Same address' }, 200],
        [{ email: next, current_password: password }, 200],
      ] as const)
        expect((await call(session, 'patch', '/api/me', body)).status).toBe(status);
      expect((await call(session, 'get', '/api/me')).body).toMatchObject({ email: next });
    });

    it('an instance admin’s session sets the own password or address as an administrator: 403', async () => {
      const { id, email, session } = await stale();
      await database.db.update(users).set({ instance_role: 'admin' }).where(eq(users.id, id));
      const acts = [
        call(session, 'post', `/api/users/${id}/reset-password`, { new_password: 'another password' }),
        call(session, 'patch', `/api/users/${id}`, { email: `${newId()}@example.com` }),
      ];
      for (const act of acts) expect((await act).status).toBe(403);
      expect(await alive(await signIn(email))).toBe(true);
    });
  });

  it('the current password is wrong: 403, five times; then 429, while the login is not locked', async () => {
    const { email, session } = await account();
    const form = { current_password: 'wrong', new_password: 'another password' };
    for (let n = 0; n < 5; n += 1) {
      const { status, body } = await call(session, 'post', '/api/me/change-password', form);
      expect({ status, body }).toEqual({ status: 403, body: { error: 'current password is wrong' } });
    }
    const locked = await call(session, 'post', '/api/me/change-password', {
      ...form,
      current_password: password,
    });
    expect(locked.status).toBe(429);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
    expect(await alive(await signIn(email))).toBe(true);
  });

  it('the new password is short: 400', async () => {
    const { session } = await account();
    const form = { current_password: password, new_password: '1234567' };
    expect((await call(session, 'post', '/api/me/change-password', form)).status).toBe(400);
  });

  it.each(['agent', 'board_admin'] as const)('an %s key: 401 `not authenticated as user`', async (who) => {
    const rows: [Method, string][] = [
      ['get', '/api/me'],
      ['patch', '/api/me'],
      ['post', '/api/me/change-password'],
    ];
    for (const [method, path] of rows) {
      const { status, body } = await call(cast[who], method, path, method === 'get' ? undefined : {});
      expect({ status, body }).toEqual({ status: 401, body: { error: 'not authenticated as user' } });
    }
  });
});

const newUser = () => ({ email: `${newId()}@example.com`, password, display_name: 'Made' });

describe('somebody or something is used while it is being deleted', () => {
  /** Starts the act while the deletion holds its locks, so that it waits for them; then commits the deletion. */
  async function whileDeleting<T>(
    table: 'users' | 'companies',
    id: string,
    act: () => Promise<T>,
  ): Promise<T> {
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await client.query(`delete from ${table} where id = $1`, [id]);
      const acting = act();
      const waiting = `select 1 from pg_locks where not granted and pg_blocking_pids(pid) @> array[$1::int]`;
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await waitFor(async () => (await database.pool.query(waiting, [rows[0]!.pid])).rowCount);
      await client.query('commit');
      return await acting;
    } finally {
      client.release();
    }
  }

  it.each(['members', 'users'])('a user becomes a member by %s: 404', async (route) => {
    const { id } = await account();
    const path = `/api/companies/${cast.company_id}/${route}`;
    const { status } = await whileDeleting('users', id, () =>
      call(cast.admin, 'post', path, { user_id: id, role: 'member' }),
    );
    expect(status).toBe(404);
  });

  it('its session asks to join, or accepts an invite: 404', async () => {
    const { company_id } = cast;
    const asks = await account();
    const asked = await whileDeleting('users', asks.id, () =>
      call(asks.session, 'post', '/api/join-requests', { company_id }),
    );
    const invite = await call(cast.admin, 'post', `/api/companies/${company_id}/invites`, { role: 'viewer' });
    const accepts = await account();
    const accepted = await whileDeleting('users', accepts.id, () =>
      call(accepts.session, 'post', `/api/invites/${invite.body.token}/accept`),
    );
    expect([asked.status, accepted.status]).toEqual([404, 404]);
  });

  it('the company goes: invite and join request are 404', async () => {
    for (const act of ['invite', 'join'] as const) {
      const slug = `c-${newId()}`;
      const { body } = await call(cast.instance_admin, 'post', '/api/companies', { name: slug, slug });
      const { session } = await account();
      const { status } = await whileDeleting('companies', body.id, () =>
        act === 'invite'
          ? call(cast.instance_admin, 'post', `/api/companies/${body.id}/invites`, { role: 'viewer' })
          : call(session, 'post', '/api/join-requests', { company_id: body.id }),
      );
      expect(status).toBe(404);
    }
  });
});

describe('users', () => {
  it('an instance admin sends a creation twice with one Idempotency-Key: one user, the same answer', async () => {
    const body = newUser();
    const sendIt = (sent: object) =>
      request(app)
        .post('/api/users')
        .set({ ...cast.instance_admin.headers, 'Idempotency-Key': `k-${body.email}` })
        .send(sent);
    const first = await sendIt(body);
    const again = await sendIt(body);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect((await sendIt({ ...body, display_name: 'Other' })).status).toBe(409);
  });

  it('an instance admin creates one: 201, who signs in at once; the address again is 409', async () => {
    const values = newUser();
    const { status, body } = await call(cast.instance_admin, 'post', '/api/users', values);
    expect(status).toBe(201);
    expect(Object.keys(body as object).toSorted()).toEqual(
      [
        'id',
        'email',
        'display_name',
        'instance_role',
        'is_active',
        'last_login_at',
        'created_at',
        'updated_at',
        'slack_user_id',
        'telegram_user_id',
      ].toSorted(),
    );
    expect(await alive(await signIn(values.email))).toBe(true);
    const again = { ...values, email: values.email.toUpperCase() };
    expect((await call(cast.instance_admin, 'post', '/api/users', again)).status).toBe(409);
    expect((await call(cast.instance_admin, 'get', `/api/users/${body.id}`)).body).toMatchObject({
      email: values.email,
    });
  });

  it.each(['email', 'password', 'display_name'])('%s is missing: 400', async (field) => {
    const { [field as 'email']: _, ...rest } = newUser();
    expect((await call(cast.instance_admin, 'post', '/api/users', rest)).status).toBe(400);
  });

  it('the list is read page by page: Link and X-Next-Cursor until the end', async () => {
    await account();
    await account();
    const { body: all, headers } = await call(cast.instance_admin, 'get', '/api/users');
    expect(headers['x-next-cursor']).toBeUndefined();
    const first = await call(cast.instance_admin, 'get', '/api/users?limit=1');
    expect(first.body).toEqual(all.slice(0, 1));
    expect(first.headers.link).toContain('rel="next"');
    const second = await call(
      cast.instance_admin,
      'get',
      `/api/users?limit=1&cursor=${first.headers['x-next-cursor']}`,
    );
    expect(second.body).toEqual(all.slice(1, 2));
  });

  it('one is deactivated: sessions and streams end at once, and the login is refused', async () => {
    const { id, email, session } = await account();
    const stream = await listen(session);
    const change = { is_active: false };
    expect((await call(cast.instance_admin, 'patch', `/api/users/${id}`, change)).body).toMatchObject(change);
    expect(await alive(session)).toBe(false);
    await waitFor(() => stream.ended, { timeout_ms: 20_000 });
    await expect(signIn(email)).rejects.toThrow('401');
  });

  it('one is deactivated and activated again: the old session stays dead', async () => {
    const { id, session } = await account();
    await call(cast.instance_admin, 'patch', `/api/users/${id}`, { is_active: false });
    await call(cast.instance_admin, 'patch', `/api/users/${id}`, { is_active: true });
    expect(await alive(session)).toBe(false);
  });

  it('one gets a password by an admin: sessions end, the new one counts', async () => {
    const { id, email, session } = await account();
    const path = `/api/users/${id}/reset-password`;
    expect((await call(cast.instance_admin, 'post', path, { new_password: 'reset password' })).status).toBe(
      200,
    );
    expect(await alive(session)).toBe(false);
    expect(await alive(await signIn(email, 'reset password'))).toBe(true);
  });

  it('one is deleted: 204, session dead, then 404', async () => {
    const { id, session } = await account();
    const path = `/api/users/${id}`;
    expect((await call(cast.instance_admin, 'delete', path)).status).toBe(204);
    expect(await alive(session)).toBe(false);
    for (const method of ['get', 'delete'] as const) {
      expect((await call(cast.instance_admin, method, path)).status).toBe(404);
    }
    expect((await call(cast.instance_admin, 'patch', path, {})).status).toBe(404);
  });

  it('the role changes by either row: seen in the list of roles; the session ends', async () => {
    const { id, session } = await account();
    const path = `/api/instance/roles/${id}`;
    const { status, body } = await call(cast.instance_admin, 'patch', path, { role: 'admin' });
    expect({ status, body }).toMatchObject({ status: 200, body: { user_id: id, role: 'admin' } });
    expect(await alive(session)).toBe(false);
    const { body: roles } = await call(cast.instance_admin, 'get', '/api/instance/roles');
    expect(roles).toContainEqual(body);
    expect((await call(cast.instance_admin, 'patch', path, { role: 'owner' })).status).toBe(400);
    expect(
      (await call(cast.instance_admin, 'patch', `/api/users/${id}`, { instance_role: 'member' })).status,
    ).toBe(200);
  });

  it('an admin demotes, deactivates or deletes oneself: 409', async () => {
    const { user_id } = cast.instance_admin;
    const tries: [Method, string, object?][] = [
      ['patch', `/api/instance/roles/${user_id}`, { role: 'member' }],
      ['patch', `/api/users/${user_id}`, { instance_role: 'member' }],
      ['patch', `/api/users/${user_id}`, { is_active: false }],
      ['delete', `/api/users/${user_id}`],
    ];
    for (const [method, path, body] of tries) {
      expect((await call(cast.instance_admin, method, path, body)).status).toBe(409);
    }
  });
});

describe('a live stream', () => {
  it('its user signs out in another tab: it ends, the user’s other session’s stays', async () => {
    const { email, session } = await account();
    const [mine, other] = [await listen(session), await listen(await signIn(email))];
    await request(app).post('/logout').set(session.headers).expect(303);
    await waitFor(() => mine.ended, { timeout_ms: 20_000 });
    expect(other.ended).toBe(false);
  });
});

const invites = () => `/api/companies/${cast.company_id}/invites`;

describe('ways into a company', () => {
  it('an admin invites: the token is for admins, null for everybody else', async () => {
    const { status, body } = await call(cast.admin, 'post', invites(), { role: 'viewer' });
    expect(status).toBe(201);
    expect(body.token).toMatch(/^[\w-]{43}$/);
    const tokenFor = async (who: Caller) => (await call(who, 'get', invites())).body[0].token;
    for (const who of [cast.admin, cast.board_admin, cast.instance_admin]) {
      expect(await tokenFor(who)).toBe(body.token);
    }
    for (const who of [cast.viewer, cast.member, cast.agent, cast.board_member]) {
      expect(await tokenFor(who)).toBeNull();
    }
  });

  it.each([
    { role: 'owner' },
    {},
    { role: 'member', expires_in_hours: 0 },
    { role: 'member', expires_in_hours: 1.5 },
  ])('an invite of %j: 400', async (body) => {
    expect((await call(cast.admin, 'post', invites(), body)).status).toBe(400);
  });

  it('a user accepts: 201 membership, at once in force; the token again is 404, a member is 409', async () => {
    const { session } = await account();
    const company = `/api/companies/${cast.company_id}/members`;
    expect((await call(session, 'get', company)).status).toBe(404);
    const { body: invite } = await call(cast.admin, 'post', invites(), { role: 'viewer' });
    const path = `/api/invites/${invite.token}/accept`;
    const { status, body } = await call(session, 'post', path);
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { role: 'viewer', company_id: cast.company_id },
    });
    expect((await call(session, 'get', company)).status).toBe(200);
    expect((await call(session, 'post', path)).status).toBe(404);
    expect((await call(session, 'post', `/api/invites/${newToken()}/accept`)).status).toBe(404);
    const { body: next } = await call(cast.admin, 'post', invites(), { role: 'admin' });
    expect((await call(session, 'post', `/api/invites/${next.token}/accept`)).status).toBe(409);
    expect((await call(cast.agent, 'post', `/api/invites/${next.token}/accept`)).status).toBe(401);
  });

  it('a user asks to join: 201, then 200; approved, then 409 for both', async () => {
    const { session } = await account();
    const ask = (company_id = cast.company_id) => call(session, 'post', '/api/join-requests', { company_id });
    const first = await ask();
    expect(first.status).toBe(201);
    const second = await ask();
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
    expect((await ask(newId())).status).toBe(404);

    const path = `/api/join-requests/${first.body.id}`;
    expect((await call(session, 'patch', path, { status: 'approved' })).status).toBe(404);
    expect((await call(cast.stranger, 'patch', path, { status: 'approved' })).status).toBe(404);
    expect((await call(cast.member, 'patch', path, { status: 'approved' })).status).toBe(403);
    expect((await call(cast.admin, 'patch', path, { status: 'pending' })).status).toBe(400);
    const done = await call(cast.admin, 'patch', path, { status: 'approved' });
    expect(done.body).toMatchObject({ status: 'approved', resolved_by: cast.admin.user_id });
    expect((await call(session, 'get', `/api/companies/${cast.company_id}/members`)).status).toBe(200);
    expect((await call(cast.admin, 'patch', path, { status: 'rejected' })).status).toBe(409);
    expect((await ask()).status).toBe(409);
  });

  it('a request that an integration resolves names the person who answers for its key', async () => {
    const keys = `/api/companies/${cast.company_id}/board-user-keys`;
    const { body: key } = await call(cast.admin, 'post', keys, { label: 'Joining', role: 'admin' });
    const headers = { Authorization: `Bearer ${key.raw_key}` };
    const asked = { company_id: cast.company_id };
    const { body: made } = await call((await account()).session, 'post', '/api/join-requests', asked);
    const path = `/api/join-requests/${made.id}`;
    const { body } = await call({ headers }, 'patch', path, { status: 'rejected' });
    expect(body).toMatchObject({ status: 'rejected', resolved_by: cast.admin.user_id });
  });

  it('an integration’s key is minted by an admin, works at its role, and is revoked at once', async () => {
    const path = `/api/companies/${cast.company_id}/board-user-keys`;
    const { status, body } = await call(cast.admin, 'post', path, { role: 'viewer', label: 'CI' });
    expect(status).toBe(201);
    const bearer = { headers: { Authorization: `Bearer ${body.raw_key}` } };
    expect((await call(bearer, 'get', `/api/companies/${cast.company_id}/members`)).status).toBe(200);
    expect((await call(bearer, 'get', path)).status).toBe(403);
    const { body: listed } = await call(cast.admin, 'get', path);
    const { raw_key: _, ...shown } = body;
    expect(listed).toContainEqual(shown);
    expect((await call(cast.foreign_board, 'delete', `/api/board-user-keys/${body.id}`)).status).toBe(404);
    expect((await call(cast.admin, 'delete', `/api/board-user-keys/${body.id}`)).status).toBe(204);
    expect((await call(bearer, 'get', `/api/companies/${cast.company_id}/members`)).status).toBe(401);
  });
});
