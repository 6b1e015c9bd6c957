/** Authentication and the tenant boundary: tested on a few rows with real credentials. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BEARER, endpoint } from '@acp/contract';
import type { Actor } from '@acp/contract';
import { closeSession, createAgent, deleteBoardUserKey, removeMember, systemActor } from '@acp/core';
import { schema, transaction } from '@acp/db';
import { createLogger, loadConfig, newApiKey, newId, newToken } from '@acp/kernel';
import { testDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { Type } from 'typebox';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials, dropRevokedImmediately } from '../../apps/web/src/http/credentials.ts';
import type { Credentials } from '../../apps/web/src/http/credentials.ts';
import { handle } from '../../apps/web/src/http/handle.ts';
import { bearer, createCast, person } from './cast.ts';
import type { Cast } from './cast.ts';

const Who = Type.Object({ kind: Type.String() });
const base = { method: 'GET', response: Who, status: 200, tx: 'none', doc: '' } as const;
const company = { by: 'company', param: 'companyId' } as const;

const rows = [
  { ...base, id: 'test.me', path: '/api/me', auth: ['user'], role: 'none', scope: { by: 'none' } },
  { ...base, id: 'test.self', path: '/api/agents/me', auth: ['agent'], role: 'none', scope: { by: 'self' } },
  { ...base, id: 'test.any', path: '/api/any', auth: BEARER, role: 'none', scope: { by: 'none' } },
  {
    ...base,
    id: 'test.instance',
    path: '/api/instance',
    auth: BEARER,
    role: 'instance_admin',
    scope: { by: 'none' },
  },
  {
    ...base,
    id: 'test.viewer',
    path: '/api/companies/{companyId}/viewer',
    auth: BEARER,
    role: 'viewer',
    scope: company,
  },
  {
    ...base,
    id: 'test.member',
    path: '/api/companies/{companyId}/member',
    auth: BEARER,
    role: 'member',
    scope: company,
  },
  {
    ...base,
    id: 'test.admin',
    path: '/api/companies/{companyId}/admin',
    auth: BEARER,
    role: 'admin',
    scope: company,
  },
  {
    ...base,
    id: 'test.agent',
    path: '/api/agents/{agentId}',
    auth: BEARER,
    role: 'viewer',
    scope: { by: 'agent', param: 'agentId' },
  },
  {
    ...base,
    id: 'test.release',
    path: '/api/agents/{agentId}/release',
    auth: BEARER,
    role: 'member',
    scope: { by: 'agent', param: 'agentId', absent: 'forbidden' },
  },
  {
    ...base,
    id: 'test.permitted',
    path: '/api/companies/{companyId}/permitted',
    auth: BEARER,
    role: 'member',
    scope: company,
    permission: 'secrets.use',
  },
  {
    ...base,
    id: 'test.write',
    method: 'POST',
    path: '/api/write',
    auth: BEARER,
    role: 'none',
    scope: { by: 'none' },
  },
  {
    ...base,
    id: 'test.stream',
    path: '/api/stream',
    auth: BEARER,
    role: 'none',
    scope: { by: 'none' },
    query: Type.Object({ Authorization: Type.Optional(Type.String()) }),
  },
] as const;
const routes = rows.map((row) =>
  handle(endpoint(row), ({ actor }: { actor: Actor }) => ({ kind: actor.kind })),
);

let kit: TestDatabase;
let app: Express;
let cast: Cast;
let credentials: Credentials;

beforeAll(async () => {
  kit = await testDatabase();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  credentials = createCredentials({ database: kit.database, logger, listener: kit.listener });
  await kit.listener.ready();
  kit.database.notifier = dropRevokedImmediately(kit.notifier, credentials);
  cast = await createCast(kit.database);
  const config = loadConfig({ RATE_LIMIT_RPM: '0' });
  app = createApp({ database: kit.database, logger, config, credentials, routes });
});

afterAll(async () => credentials.close());

const get = (path: string, headers: Record<string, string>) => request(app).get(path).set(headers);

describe('credentials', () => {
  it.each([
    ['nothing', {}, 'unauthenticated'],
    ['another scheme', { Authorization: 'Basic abc' }, 'unauthenticated'],
    ['an empty bearer', { Authorization: 'Bearer ' }, 'unauthenticated'],
    ['a malformed key', bearer('nonsense'), 'invalid api key'],
    ['an unknown key', bearer(newApiKey()), 'invalid api key'],
    ['an unknown session', { Cookie: `service_session=${newToken()}` }, 'unauthenticated'],
    ['a malformed session', { Cookie: 'service_session=%00; a; =b' }, 'unauthenticated'],
  ])('a caller brings %s: 401', async (_what, headers, error) => {
    const { headers: answered } = await get('/api/any', headers).expect(401, { error });
    expect(answered['www-authenticate']).toBe('Bearer');
  });

  it('each kind of credential is told apart', async () => {
    await get('/api/any', cast.member.headers).expect(200, { kind: 'user' });
    await get('/api/any', cast.agent.headers).expect(200, { kind: 'agent' });
    await get('/api/any', cast.board_viewer.headers).expect(200, { kind: 'board_user' });
  });

  it('a session and a key come together: the session counts', async () => {
    await get('/api/any', { ...cast.agent.headers, ...cast.member.headers }).expect(200, { kind: 'user' });
  });

  it('a dead session and a key come together: the key counts', async () => {
    const headers = { ...cast.agent.headers, Cookie: `service_session=${newToken()}` };
    await get('/api/any', headers).expect(200, { kind: 'agent' });
  });

  it('a key cookie stands in for a missing header, not for a malformed one', async () => {
    const Cookie = `theme=dark; service_key=${cast.agent.raw_key}`;
    await get('/api/any', { Cookie }).expect(200, { kind: 'agent' });
    await get('/api/any', { Cookie, Authorization: 'Basic abc' }).expect(401);
  });

  it('a token comes in the query: only where the row takes it', async () => {
    const query = `?Authorization=${encodeURIComponent(`Bearer ${cast.agent.raw_key}`)}`;
    await get(`/api/stream${query}`, {}).expect(200, { kind: 'agent' });
    await get(`/api/any${query}`, {}).expect(401);
  });

  it('an agent or an integration asks who it is as a user: 401', async () => {
    const error = 'not authenticated as user';
    await get('/api/me', cast.agent.headers).expect(401, { error });
    await get('/api/me', cast.board_admin.headers).expect(401, { error });
    await get('/api/me', bearer(newApiKey())).expect(401, { error: 'invalid api key' });
    await get('/api/me', cast.viewer.headers).expect(200);
  });

  it('a user or an integration asks for an agent’s own record: 401', async () => {
    await get('/api/agents/me', cast.admin.headers).expect(401);
    await get('/api/agents/me', cast.board_admin.headers).expect(401, {
      error: 'not authenticated as agent',
    });
    await get('/api/agents/me', cast.agent.headers).expect(200, { kind: 'agent' });
  });

  it('a cross-site write rides on a session cookie: 403; with a bearer key it passes', async () => {
    const site = { 'Sec-Fetch-Site': 'cross-site' };
    await request(app)
      .post('/api/write')
      .set({ ...cast.member.headers, ...site })
      .expect(403);
    await request(app)
      .post('/api/write')
      .set({ ...cast.agent.headers, ...site })
      .expect(200);
  });
});

describe('revocation', () => {
  it('a key is revoked: it opens nothing from the next request on', async () => {
    const fresh = await createCast(kit.database);
    await get('/api/any', fresh.board_member.headers).expect(200);
    await transaction(kit.database, async (tx) =>
      deleteBoardUserKey(tx, systemActor('tests'), fresh.company_id, fresh.board_member.key_id),
    );
    await get('/api/any', fresh.board_member.headers).expect(401, { error: 'invalid api key' });
  });

  it('a key that was just used reaches its end: it opens nothing from then on', async () => {
    const fresh = await createCast(kit.database);
    const { key_id, headers } = fresh.board_member;
    const ends = "update board_user_keys set expires_at = now() + interval '3 s' where id = $1";
    await kit.database.pool.query(ends, [key_id]);
    await get('/api/any', headers).expect(200);
    const hasEnded = 'select from board_user_keys where id = $1 and expires_at <= now()';
    await waitFor(async () => (await kit.database.pool.query(hasEnded, [key_id])).rowCount === 1);
    await get('/api/any', headers).expect(401, { error: 'invalid api key' });
  });

  it('another process ends a session: it opens nothing within moments', async () => {
    const user = await transaction(kit.database, async (tx) => person(tx, 'member'));
    await get('/api/any', user.headers).expect(200);
    const [session] = await kit.database.db
      .select()
      .from(schema.sessions)
      .where(eq(schema.sessions.user_id, user.user_id));
    const other = { ...kit.database, notifier: kit.notifier };
    await transaction(other, async (tx) => closeSession(tx, session!.id));
    await waitFor(async () => (await get('/api/any', user.headers)).status === 401, { timeout_ms: 20_000 });
  });

  it('a member is removed: the company is gone for the user at once', async () => {
    const fresh = await createCast(kit.database);
    const path = `/api/companies/${fresh.company_id}/viewer`;
    await get(path, fresh.viewer.headers).expect(200);
    await transaction(kit.database, async (tx) =>
      removeMember(tx, systemActor('tests'), fresh.company_id, fresh.viewer.user_id),
    );
    await get(path, fresh.viewer.headers).expect(404);
  });

  it('a key was used: the time is written in batches, by one flush', async () => {
    const { agent_api_keys } = schema;
    await get('/api/any', cast.agent.headers).expect(200);
    const before = kit.database.statements();
    await get('/api/any', cast.agent.headers).expect(200);
    expect(kit.database.statements()).toBe(before);
    await credentials.flush();
    const [key] = await kit.database.db
      .select()
      .from(agent_api_keys)
      .where(eq(agent_api_keys.id, cast.agent.key_id));
    expect(key?.last_used_at).toBeInstanceOf(Date);
  });
});

describe('roles and tenants', () => {
  const everyone = [
    'viewer',
    'member',
    'admin',
    'agent',
    'board_viewer',
    'board_member',
    'board_admin',
  ] as const;
  const allowed = {
    viewer: everyone,
    member: ['member', 'admin', 'agent', 'board_member', 'board_admin'],
    admin: ['admin', 'board_admin'],
  } as const;

  it.each(['viewer', 'member', 'admin'] as const)(
    '%s rows admit those of the role and above',
    async (role) => {
      const path = `/api/companies/${cast.company_id}/${role}`;
      const admitted: readonly string[] = allowed[role];
      for (const who of everyone) {
        const expected = admitted.includes(who) ? 200 : 403;
        const { body } = await get(path, cast[who].headers).expect(expected);
        expect(body.error).toBe(expected === 200 ? undefined : `${role} role required`);
      }
    },
  );

  it.each(['stranger', 'foreign_agent', 'foreign_board'] as const)(
    'a %s asks: 404, never 403',
    async (who) => {
      const { headers } = cast[who];
      for (const role of ['viewer', 'member', 'admin']) {
        await get(`/api/companies/${cast.company_id}/${role}`, headers).expect(404, { error: 'not found' });
      }
      await get(`/api/agents/${cast.agent_id}`, headers).expect(404, { error: 'not found' });
      await get(`/api/agents/${cast.agent_id}/release`, headers).expect(403, { error: 'forbidden' });
    },
  );

  it('an instance admin, member of nothing, enters every company that exists', async () => {
    const { headers } = cast.instance_admin;
    await get(`/api/companies/${cast.company_id}/admin`, headers).expect(200);
    await get(`/api/agents/${cast.other_agent_id}`, headers).expect(200);
    await get(`/api/companies/${newId()}/admin`, headers).expect(404);
  });

  it('only users who are instance admins pass an instance row', async () => {
    await get('/api/instance', cast.instance_admin.headers).expect(200);
    for (const who of ['admin', 'agent', 'board_admin'] as const) {
      await get('/api/instance', cast[who].headers).expect(403, { error: 'instance admin only' });
    }
  });

  it('an agent lacks the permission of a row: 403; people are bounded by their role alone', async () => {
    const path = `/api/companies/${cast.company_id}/permitted`;
    await get(path, cast.agent.headers).expect(403, { error: 'permission withheld: secrets.use' });
    await get(path, cast.member.headers).expect(200);
  });

  it('an id is of no agent, or no UUID: 404', async () => {
    await get(`/api/agents/${newId()}`, cast.admin.headers).expect(404);
    await get('/api/agents/nonsense', cast.admin.headers).expect(404);
    const made = await transaction(kit.database, async (tx) =>
      createAgent(tx, systemActor('tests'), cast.company_id, { name: 'Known' }),
    );
    const { id } = 'agent' in made ? made.agent : made;
    await get(`/api/agents/${id}`, cast.admin.headers).expect(200);
  });
});
