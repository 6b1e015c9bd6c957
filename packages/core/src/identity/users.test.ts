import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpdateUser } from '@acp/contract';
import { schema, transaction } from '@acp/db';
import { newId, sha256Hex } from '@acp/kernel';
import {
  actors,
  cloneDatabase,
  createCompany,
  createMembership,
  createUser,
  type TestDatabase,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { writeInstanceRole, closeAccount, eraseAccount, updateMe, changeUser } from './administer-users.ts';
import { changePassword, resetPassword } from './change-password.ts';
import { openSession, resolveSession } from './sessions.ts';
import { createUser as makeUser, enrolUser, findUser, findUserByEmail, listUsers } from './users.ts';

const { activity, channels, chat_pairings, instance_audit, memberships, users } = schema;

// A separate instance: the rule about the last admin looks at all users.
let kit: TestDatabase;
beforeAll(async () => {
  kit = await cloneDatabase('users');
});
afterAll(async () => kit.close());
beforeEach(async () => {
  await kit.database.db.delete(users);
});

const db = () => kit.database.db;
const inTx = <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(kit.database, work);
const freshEmail = () => `${newId()}@example.com`;
const admin = () => createUser(db(), { instance_role: 'admin', password_hash: 'hash' });

/** A user with that many sessions; `alive` tells which of them are still valid. */
async function withSessions(values: Parameters<typeof createUser>[1], count: number) {
  const user = await createUser(db(), values);
  const hashes: string[] = [];
  for (let n = 0; n < count; n += 1) hashes.push(sha256Hex((await openSession(db(), user.id)).token));
  const first = await resolveSession(db(), hashes[0]!);
  const alive = async () =>
    (await Promise.all(hashes.map((hash) => resolveSession(db(), hash)))).map((actor) => actor !== undefined);
  return { user, actor: first!, alive };
}

describe('a new user', () => {
  it('the address is in use in another case: conflict', async () => {
    const email = freshEmail();
    const user = { email, display_name: 'A', password_hash: null, instance_role: 'member' } as const;
    await inTx((tx) => makeUser(tx, user));
    const again = inTx((tx) => makeUser(tx, { ...user, email: email.toUpperCase() }));
    await expect(again).rejects.toMatchObject({ kind: 'conflict' });
    expect(await findUserByEmail(db(), email.toUpperCase())).toMatchObject({ email });
  });

  it('the address differs by more than the case of ASCII letters: another one', async () => {
    const email = `kiss-${newId()}@example.com`;
    const user = { email, display_name: 'A', password_hash: null, instance_role: 'member' } as const;
    await inTx((tx) => makeUser(tx, user));
    const kelvin = email.replace('k', '\u212A');
    expect(await findUserByEmail(db(), kelvin)).toBeUndefined();
    expect(await inTx((tx) => makeUser(tx, { ...user, email: kelvin }))).toMatchObject({ email: kelvin });
    expect(await findUserByEmail(db(), email)).toMatchObject({ email });
  });

  it('is enrolled by an admin: the answer and the audit trail hold no password', async () => {
    const actor = actors.instanceAdmin(await admin());
    const user = {
      email: freshEmail(),
      display_name: 'A',
      password_hash: 'a hash',
      instance_role: 'member',
    } as const;
    const answer = await inTx((tx) => enrolUser(tx, actor, user));
    expect(answer).toMatchObject({
      email: user.email,
      is_active: true,
      last_login_at: null,
      slack_user_id: null,
    });
    const [entry] = await db()
      .select()
      .from(instance_audit)
      .where(eq(instance_audit.actor_id, actor.user_id));
    expect(entry).toMatchObject({ action: 'user.created', details: { user_id: answer.id } });
    expect(JSON.stringify([answer, entry])).not.toContain('a hash');
  });
});

describe('the list', () => {
  it('is asked for without a limit: everybody, newest first; with one: page by page, nobody twice', async () => {
    for (let n = 0; n < 5; n += 1) await createUser(db(), { created_at: new Date(2020, 1, n < 3 ? 1 : n) });
    const all = await listUsers(db());
    expect(all.next_cursor).toBeNull();
    expect(all.items.map(({ created_at }) => created_at)).toEqual(
      all.items.map(({ created_at }) => created_at).toSorted((a, b) => b.getTime() - a.getTime()),
    );
    const paged: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await listUsers(db(), { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      paged.push(...page.items.map(({ id }) => id));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all.items.map(({ id }) => id));
  });

  it('the cursor is none: invalid', async () => {
    await expect(listUsers(db(), { cursor: 'nonsense' })).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('updateMe', () => {
  it('the address changes: other sessions end, this one goes on, and nobody vouches for the address', async () => {
    const { user, actor, alive } = await withSessions({}, 3);
    const email = freshEmail();
    const answer = await inTx((tx) => updateMe(tx, actor, { email }));
    expect(answer).toEqual({ id: user.id, email, display_name: user.display_name, instance_role: 'member' });
    expect(await alive()).toEqual([true, false, false]);
    expect(await findUser(db(), user.id)).toMatchObject({ email_verified_at: null });
  });

  it.each([[{ display_name: 'Other' }], [{}]])('%j: all sessions go on', async (input) => {
    const { actor, alive } = await withSessions({}, 2);
    await inTx((tx) => updateMe(tx, actor, input));
    expect(await alive()).toEqual([true, true]);
  });

  it('the address is somebody’s: conflict', async () => {
    const { email } = await createUser(db());
    const { actor, alive } = await withSessions({}, 2);
    await expect(inTx((tx) => updateMe(tx, actor, { email }))).rejects.toMatchObject({ kind: 'conflict' });
    expect(await alive()).toEqual([true, true]);
  });
});

describe('passwords', () => {
  it('a user changes it: the other sessions end', async () => {
    const { user, actor, alive } = await withSessions({ password_hash: 'old' }, 2);
    await inTx((tx) => changePassword(tx, actor, { verified_hash: 'old', new_hash: 'new' }));
    expect(await alive()).toEqual([true, false]);
    expect(await findUser(db(), user.id)).toMatchObject({ password_hash: 'new' });
  });

  it('an admin reset it while the user typed the former one: forbidden, the reset stands', async () => {
    const { user, actor } = await withSessions({ password_hash: 'old' }, 1);
    await inTx((tx) => resetPassword(tx, actors.system, user.id, 'reset'));
    const change = inTx((tx) => changePassword(tx, actor, { verified_hash: 'old', new_hash: 'new' }));
    await expect(change).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await findUser(db(), user.id)).toMatchObject({ password_hash: 'reset' });
  });

  it('an admin resets it: all sessions of the user end', async () => {
    const { user, alive } = await withSessions({}, 2);
    const actor = actors.instanceAdmin(await admin());
    await inTx((tx) => resetPassword(tx, actor, user.id, 'reset'));
    expect(await alive()).toEqual([false, false]);
    const unknown = inTx((tx) => resetPassword(tx, actor, newId(), 'reset'));
    await expect(unknown).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('changeUser', () => {
  it.each<[UpdateUser, boolean]>([
    [{ email: 'moved@example.com' }, false],
    [{ instance_role: 'admin' }, false],
    [{ is_active: false }, false],
    [{ display_name: 'Other' }, true],
    [{ is_active: true, instance_role: 'member' }, true],
  ])('an admin sends %j: the sessions go on is %s', async (input, goOn) => {
    const { user, alive } = await withSessions({}, 2);
    const actor = actors.instanceAdmin(await admin());
    expect(await inTx((tx) => changeUser(tx, actor, user.id, input))).toMatchObject(input);
    expect(await alive()).toEqual([goOn, goOn]);
  });

  it('a user is deactivated: chat pairings are revoked, and stay so', async () => {
    const user = await createUser(db(), { slack_user_id: 'U1', telegram_user_id: '7' });
    const company = await createCompany(db());
    const tokens = { bot_token: '${secret:BOT}', app_token: '${secret:APP}' };
    const [channel] = await db()
      .insert(channels)
      .values({ company_id: company.id, name: 'slack', kind: 'slack', ...tokens })
      .returning();
    const place = { channel_id: channel!.id, company_id: company.id };
    const [pairing] = await db()
      .insert(chat_pairings)
      .values({ user_id: user.id, ...place, channel: 'slack', external_id: 'U1' })
      .returning();
    const actor = actors.instanceAdmin(await admin());
    const answer = await inTx((tx) => changeUser(tx, actor, user.id, { is_active: false }));
    expect(answer).toMatchObject({ is_active: false, slack_user_id: null, telegram_user_id: null });
    await inTx((tx) => changeUser(tx, actor, user.id, { is_active: true }));
    const [row] = await db().select().from(chat_pairings).where(eq(chat_pairings.id, pairing!.id));
    expect(row!.revoked_at).toBeInstanceOf(Date);
  });

  it('the user is unknown: notFound', async () => {
    const actor = actors.instanceAdmin(await admin());
    const unknown = inTx((tx) => changeUser(tx, actor, newId(), { display_name: 'X' }));
    await expect(unknown).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('eraseAccount', () => {
  it('a member is deleted: memberships and sessions go, each company’s activity says so', async () => {
    const { user, alive } = await withSessions({}, 1);
    const company = await createCompany(db());
    await createMembership(db(), company, user);
    const actor = actors.instanceAdmin(await admin());
    await inTx((tx) => eraseAccount(tx, actor, user.id));
    expect(await findUser(db(), user.id)).toBeUndefined();
    expect(await alive()).toEqual([false]);
    expect(await db().$count(memberships, eq(memberships.user_id, user.id))).toBe(0);
    const [entry] = await db().select().from(activity).where(eq(activity.company_id, company.id));
    expect(entry).toMatchObject({ action: 'member.removed', entity_id: user.id, actor_id: actor.user_id });
    await expect(inTx((tx) => eraseAccount(tx, actor, user.id))).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('the last active instance admin', () => {
  type Act = (
    by: ReturnType<typeof actors.instanceAdmin> | typeof actors.system,
    id: string,
  ) => Promise<unknown>;
  const acts: [string, Act][] = [
    ['demoted by PATCH', (by, id) => inTx((tx) => changeUser(tx, by, id, { instance_role: 'member' }))],
    ['demoted by its role', (by, id) => inTx((tx) => writeInstanceRole(tx, by, id, 'member'))],
    ['deactivated', (by, id) => inTx((tx) => closeAccount(tx, by, id))],
    ['deleted', (by, id) => inTx((tx) => eraseAccount(tx, by, id))],
  ];

  it.each(acts)('is %s by the operator: conflict; a deactivated admin does not count', async (_what, act) => {
    const last = await admin();
    await createUser(db(), { instance_role: 'admin', is_active: false });
    await expect(act(actors.system, last.id)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await findUser(db(), last.id)).toMatchObject({ instance_role: 'admin', is_active: true });
  });

  it.each(acts)('is not the last, but oneself, %s: conflict', async (_what, act) => {
    const self = await admin();
    await admin();
    await expect(act(actors.instanceAdmin(self), self.id)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it.each(acts)('two admins are %s by each other at once: one stays', async (_what, act) => {
    for (let round = 0; round < 5; round += 1) {
      await db().delete(users);
      const [one, two] = [await admin(), await admin()];
      const done = await Promise.allSettled([
        act(actors.instanceAdmin(one), two.id),
        act(actors.instanceAdmin(two), one.id),
      ]);
      expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const { items } = await listUsers(db());
      expect(
        items.filter(({ instance_role, is_active }) => is_active && instance_role === 'admin'),
      ).toHaveLength(1);
    }
  });

  it('six of six demote each other in a ring at once: one stays', async () => {
    const ring: Awaited<ReturnType<typeof admin>>[] = [];
    for (let n = 0; n < 6; n += 1) ring.push(await admin());
    await Promise.allSettled(
      ring.map((by, n) =>
        inTx((tx) => writeInstanceRole(tx, actors.instanceAdmin(by), ring[(n + 1) % 6]!.id, 'member')),
      ),
    );
    const { items } = await listUsers(db());
    expect(items.filter(({ instance_role }) => instance_role === 'admin')).toHaveLength(1);
  });
});
