import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import {
  createCompany,
  createMembership,
  createUser,
  meetAt,
  testDatabase,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { hashPassword, verifyPassword } from './passwords.ts';
import {
  aliveSessions,
  closeSession,
  closeUserSessions,
  deleteExpiredSessions,
  markSessionsSeen,
  openSession,
  resolveSession,
} from './sessions.ts';
import { noteLogin } from './users.ts';

const { companies, sessions, users } = schema;

let database: Database;
beforeAll(async () => {
  ({ database } = await testDatabase());
});

async function signedIn(values: Parameters<typeof createUser>[1] = {}) {
  const user = await createUser(database.db, values);
  const { token } = await openSession(database.db, user.id);
  const hash = sha256Hex(token);
  const actor = await resolveSession(database.db, hash);
  return { user, token, hash, session_id: actor?.session_id ?? '' };
}

describe('a session', () => {
  it('is opened: an opaque token, stored as its hash alone, for seven days', async () => {
    const { token, session_id } = await signedIn();
    expect(token).toMatch(/^[\w-]{43}$/);
    const [row] = await database.db.select().from(sessions).where(eq(sessions.id, session_id));
    expect(JSON.stringify(row)).not.toContain(token);
    const days = (row!.expires_at.getTime() - row!.created_at.getTime()) / 86_400_000;
    expect(days).toBeCloseTo(7, 3);
  });

  it('is resolved: the user with the roles in companies that are not in the trash, in one statement', async () => {
    const { user, hash, session_id } = await signedIn({ display_name: 'Ada', instance_role: 'admin' });
    const [company, trashed] = [await createCompany(database.db), await createCompany(database.db)];
    await createMembership(database.db, company, user, 'viewer');
    await createMembership(database.db, trashed, user, 'admin');
    await database.db
      .update(companies)
      .set({ deleted_at: sql`now()` })
      .where(eq(companies.id, trashed.id));
    const before = database.statements();
    expect(await resolveSession(database.db, hash)).toEqual({
      kind: 'user',
      user_id: user.id,
      name: 'Ada',
      instance_role: 'admin',
      session_id,
      roles: { [company.id]: 'viewer' },
    });
    expect(database.statements() - before).toBe(1);
  });

  it.each([
    [
      'has expired',
      (id: string) =>
        database.db
          .update(sessions)
          .set({ expires_at: sql`now() - interval '1 second'` })
          .where(eq(sessions.id, id)),
    ],
    ['was closed', (id: string) => transaction(database, (tx) => closeSession(tx, id))],
  ])('%s: nobody', async (_what, end) => {
    const { hash, session_id } = await signedIn();
    expect(await aliveSessions(database.db, [session_id])).toEqual(new Set([session_id]));
    await end(session_id);
    expect(await resolveSession(database.db, hash)).toBeUndefined();
    expect(await aliveSessions(database.db, [session_id])).toEqual(new Set());
  });

  it('is of a deactivated user, or the token is unknown: nobody', async () => {
    const { user, hash } = await signedIn();
    await database.db.update(users).set({ is_active: false }).where(eq(users.id, user.id));
    expect(await resolveSession(database.db, hash)).toBeUndefined();
    expect(await resolveSession(database.db, sha256Hex(newToken()))).toBeUndefined();
  });

  it('of all of a user’s is the one that is kept: the others end', async () => {
    const { user, hash, session_id } = await signedIn();
    const other = sha256Hex((await openSession(database.db, user.id)).token);
    const stranger = await signedIn();
    await transaction(database, (tx) => closeUserSessions(tx, user.id, session_id));
    expect(await resolveSession(database.db, hash)).toBeDefined();
    expect(await resolveSession(database.db, other)).toBeUndefined();
    expect(await resolveSession(database.db, stranger.hash)).toBeDefined();
  });

  it('is one of a hundred at most: those unused for longest end', async () => {
    const { user, hash } = await signedIn();
    const idle = sha256Hex((await openSession(database.db, user.id)).token);
    await database.db.execute(sql`
      insert into sessions (token_hash, user_id, expires_at) select 'x' || n, ${user.id}, now() + interval '1 day'
      from generate_series(1, 98) n`);
    await database.db
      .update(sessions)
      .set({ last_seen_at: sql`now() - interval '1 hour'` })
      .where(eq(sessions.token_hash, idle));
    const { token } = await transaction(database, (tx) => openSession(tx, user.id));
    const newest = sha256Hex(token);
    const ended = await Promise.all(
      [hash, idle, newest].map(async (each) => resolveSession(database.db, each)),
    );
    expect(ended.map((actor) => actor === undefined)).toEqual([false, true, false]);
    expect(await database.db.$count(sessions, eq(sessions.user_id, user.id))).toBe(100);
  });

  it('expired long ago: its row is forgotten', async () => {
    const { session_id } = await signedIn();
    await database.db
      .update(sessions)
      .set({ expires_at: sql`now() - interval '1 second'` })
      .where(eq(sessions.id, session_id));
    await deleteExpiredSessions(database.db);
    expect(await database.db.$count(sessions, eq(sessions.id, session_id))).toBe(0);
  });
});

describe('noteLogin', () => {
  it('the password was changed while it was checked: refused', async () => {
    const user = await createUser(database.db, { password_hash: 'new' });
    expect(await noteLogin(database.db, user.id, 'old')).toBe(false);
    expect(await noteLogin(database.db, user.id, 'new')).toBe(true);
  });

  it('the account was deactivated meanwhile: refused', async () => {
    const user = await createUser(database.db, { is_active: false });
    expect(await noteLogin(database.db, user.id)).toBe(false);
  });
});

/** CPU microseconds for a wrong guess; the minimum of several, since the process does other work too. */
async function costOfGuess(stored: string | null): Promise<number> {
  const costs: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    const before = process.cpuUsage();
    expect(await verifyPassword(stored, 'guess')).toBe(false);
    const { user, system } = process.cpuUsage(before);
    costs.push(user + system);
  }
  return Math.min(...costs);
}

describe('a password', () => {
  it('is hashed: argon2id with a salt of its own', async () => {
    const [one, two] = await Promise.all([hashPassword('the same words'), hashPassword('the same words')]);
    expect(one).toMatch(/^\$argon2id\$/);
    expect(one).not.toBe(two);
    expect(await verifyPassword(one, 'the same words')).toBe(true);
    expect(await verifyPassword(one, 'other words')).toBe(false);
  });

  it('belongs to nobody: false, and not at once', async () => {
    await verifyPassword(null, 'warm up');
    const known = await costOfGuess(await hashPassword('known'));
    expect(await costOfGuess(null)).toBeGreaterThan(known / 3);
    expect(await verifyPassword(undefined, 'no account has this password')).toBe(false);
  });
});

it('sessions are marked as seen in one order, so that two processes that mark the same ones do not lock each other out', async () => {
  const { user } = await signedIn();
  const { rows } = await database.db.execute<{ id: string }>(sql`
    insert into sessions (token_hash, user_id, expires_at, last_seen_at)
    select gen_random_uuid()::text, ${user.id}, now() + interval '1 day', now() - interval '1 hour'
    from generate_series(1, 2000) returning id`);
  await database.db.execute(sql`analyze sessions`);
  const ids = rows.map(({ id }) => id);
  for (let pair = 0; pair < 8; pair += 1) {
    const [low = '', high = ''] = ids.slice(2 * pair, 2 * pair + 2).toSorted();
    const free = async (id: string) =>
      (await database.db.execute(sql`select from sessions where id = ${id} for update skip locked`)).rows
        .length;
    let marking: Promise<void> | undefined;
    await transaction(database, async (tx) => {
      await tx.execute(sql`select from sessions where id = ${low} for update`);
      marking = transaction(database, async (other) => markSessionsSeen(other, [high, low]));
      await waitFor(async () => (await waitingForLocks(database)) === 1);
      expect(await free(high)).toBe(1);
    });
    await marking;
  }
});

it('all sessions of a user end while they are marked as seen', async () => {
  const { user } = await signedIn();
  const [low, high] = ['00000000', 'ffffffff'].map((head) => `${head}-0000-4000-8000-${user.id.slice(-12)}`);
  for (const id of [high, low])
    await database.db.execute(sql`
      insert into sessions (id, token_hash, user_id, expires_at, last_seen_at)
      values (${id}, ${newToken()}, ${user.id}, now() + interval '1 day', now() - interval '1 hour')`);
  const held = sql`select from sessions where id = ${high} for update`;
  const outcomes = await meetAt(database, held, [
    async (tx) => closeUserSessions(tx, user.id),
    async (tx) => markSessionsSeen(tx, [low!, high!]),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await database.db.$count(sessions, eq(sessions.user_id, user.id))).toBe(0);
});
