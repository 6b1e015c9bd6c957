import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId, newToken, sha256Hex, Vault } from '@acp/kernel';
import {
  actors,
  createCompany,
  createMembership,
  createUser,
  databaseWithQueue,
  nextInstant,
} from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import { deleteCompany } from './companies.ts';
import {
  acceptInvite,
  createInvite,
  joinByInvite,
  listInvites,
  previewInvite,
  revokeInvite,
} from './invites.ts';
import { setMembershipRole, listMembers, deleteMembership } from './members.ts';

const { activity, invites, users } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const sealing = new Vault(Buffer.alloc(32, 7));
const inTx = <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);

async function setUp(input: { role?: 'admin' | 'member' | 'viewer'; expires_in_hours?: number } = {}) {
  const company = await createCompany(database.db, { name: 'Inviting' });
  const admin = await createUser(database.db, { instance_role: 'admin' });
  const invite = await inTx((tx) =>
    createInvite(tx, actors.user(admin, { [company.id]: 'admin' }), company.id, { role: 'member', ...input }),
  );
  return { company, admin, invite, token: invite.token! };
}
const someone = async () => actors.user(await createUser(database.db));
const accept = (actor: Awaited<ReturnType<typeof someone>>, token: string) =>
  inTx((tx) => acceptInvite(tx, actor, token));
const newcomer = () => ({ email: `${newId()}@example.com`, display_name: 'New', password_hash: 'hash' });
const join = (token: string, account = newcomer()) => inTx((tx) => joinByInvite(tx, token, account));
const hoursLeft = ({ expires_at, created_at }: { expires_at: Date | string; created_at: Date | string }) =>
  (new Date(expires_at).getTime() - new Date(created_at).getTime()) / 3_600_000;

describe('an invite', () => {
  it('is made: open for 72 hours unless said, its token in no activity', async () => {
    const { company, admin, invite, token } = await setUp();
    expect(invite).toMatchObject({
      role: 'member',
      created_by: admin.id,
      accepted_by: null,
      accepted_at: null,
    });
    expect(hoursLeft(invite)).toBeCloseTo(72, 3);
    expect(hoursLeft((await setUp({ expires_in_hours: 1 })).invite)).toBeCloseTo(1, 3);
    const entries = await database.db.select().from(activity).where(eq(activity.company_id, company.id));
    expect(entries).toMatchObject([{ action: 'invite.created', entity_id: invite.id }]);
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  it('is listed: the token for those alone who may see it, from its sealed form; none lies there in clear', async () => {
    const { company, admin, token } = await setUp();
    const list = async (vault: Vault | null) =>
      (await listInvites(database.db, company.id, {}, vault)).items.map((each) => each.token);
    expect(await list(sealing)).toEqual([null]);
    await nextInstant();
    const sealed = await inTx((tx) =>
      createInvite(tx, actors.user(admin), company.id, { role: 'viewer' }, sealing),
    );
    expect(await list(sealing)).toEqual([sealed.token, null]);
    expect(await list(new Vault(Buffer.alloc(32, 8)))).toEqual([null, null]);
    expect(await list(null)).toEqual([null, null]);
    const rows = await database.db.select().from(invites).where(eq(invites.company_id, company.id));
    for (const text of [token, sealed.token!]) expect(JSON.stringify(rows)).not.toContain(text);
  });

  it('is taken back: its token opens nothing; accepted, or from another company, it stays', async () => {
    const { company, admin, invite, token } = await setUp();
    const revoke = (company_id: string) =>
      inTx((tx) => revokeInvite(tx, actors.user(admin), company_id, invite.id));
    await expect(revoke(newId())).rejects.toMatchObject({ kind: 'not_found' });
    await revoke(company.id);
    await expect(accept(await someone(), token)).rejects.toMatchObject({ kind: 'not_found' });
    const used = await setUp();
    await accept(await someone(), used.token);
    await expect(
      inTx((tx) => revokeInvite(tx, actors.user(used.admin), used.company.id, used.invite.id)),
    ).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is accepted by a user: a member with its role', async () => {
    const { company, token, invite } = await setUp({ role: 'viewer' });
    const actor = await someone();
    expect(await accept(actor, token)).toMatchObject({ company_id: company.id, role: 'viewer' });
    const [row] = await database.db.select().from(invites).where(eq(invites.id, invite.id));
    expect(row).toMatchObject({ accepted_by: actor.user_id, accepted_at: expect.any(Date) });
  });

  it.each([
    ['unknown', async () => newToken()],
    [
      'used',
      async () => {
        const { token } = await setUp();
        await accept(await someone(), token);
        return token;
      },
    ],
    [
      'expired',
      async () => {
        const { token } = await setUp();
        await database.db
          .update(invites)
          .set({ expires_at: sql`now() - interval '1 second'` })
          .where(eq(invites.token_hash, sha256Hex(token)));
        return token;
      },
    ],
    [
      'of a trashed company',
      async () => {
        const { token, company } = await setUp();
        await inTx((tx) => deleteCompany(tx, actors.system, company.id));
        return token;
      },
    ],
  ])('is %s: notFound, by whatever way', async (_what, tokenOf) => {
    const token = await tokenOf();
    const account = newcomer();
    expect(await previewInvite(database.db, token)).toBeUndefined();
    await expect(accept(await someone(), token)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(join(token, account)).rejects.toMatchObject({ kind: 'not_found' });
    expect(await database.db.$count(users, eq(users.email, account.email))).toBe(0);
  });

  it.each([
    [
      'removed',
      (company_id: string, user_id: string) =>
        inTx((tx) => deleteMembership(tx, actors.system, company_id, user_id)),
    ],
    [
      'made a member',
      (company_id: string, user_id: string) =>
        inTx((tx) => setMembershipRole(tx, actors.system, company_id, user_id, { role: 'member' })),
    ],
    [
      'deactivated',
      (_company_id: string, user_id: string) =>
        database.db.update(users).set({ is_active: false }).where(eq(users.id, user_id)),
    ],
  ])('opens nothing once the admin who created it is %s', async (_what, end) => {
    const company = await createCompany(database.db);
    const admin = await createUser(database.db);
    await createMembership(database.db, company, admin, 'admin');
    const creator = actors.user(admin, { [company.id]: 'admin' });
    const make = async () =>
      (await inTx((tx) => createInvite(tx, creator, company.id, { role: 'admin' }, sealing))).token!;
    const used = await make();
    await nextInstant();
    const kept = await make();
    expect((await listInvites(database.db, company.id, {}, sealing)).items).toMatchObject([
      { is_open: true, token: kept },
      { is_open: true, token: used },
    ]);
    await accept(await someone(), used);
    await end(company.id, admin.id);
    const listed = (await listInvites(database.db, company.id, {}, sealing)).items;
    expect(listed).toMatchObject([
      { is_open: false, token: null, accepted_at: null },
      { is_open: false, accepted_at: expect.any(Date) },
    ]);
    expect(await previewInvite(database.db, kept)).toBeUndefined();
    await expect(accept(creator, kept)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(join(kept)).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is accepted by a member: conflict, and it stays for somebody else', async () => {
    const { company, token } = await setUp();
    const actor = await someone();
    await createMembership(database.db, company, { id: actor.user_id }, 'viewer');
    await expect(accept(actor, token)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await previewInvite(database.db, token)).toMatchObject({
      company_name: 'Inviting',
      role: 'member',
    });
    expect((await listMembers(database.db, company.id)).items).toMatchObject([{ role: 'viewer' }]);
  });

  it('is accepted by ten users at once: one is a member', async () => {
    const { company, token } = await setUp();
    const people = await Promise.all(Array.from({ length: 10 }, someone));
    const done = await Promise.allSettled(people.map((actor) => accept(actor, token)));
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await listMembers(database.db, company.id)).items).toHaveLength(1);
  });

  it('is accepted by one user twice at once: a member once', async () => {
    const { company, token } = await setUp();
    const actor = await someone();
    const done = await Promise.allSettled([accept(actor, token), accept(actor, token)]);
    expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect((await listMembers(database.db, company.id)).items).toHaveLength(1);
  });

  it('makes accounts for five newcomers at once: one account is made', async () => {
    const { company, token } = await setUp();
    const accounts = Array.from({ length: 5 }, newcomer);
    const done = await Promise.allSettled(accounts.map((account) => join(token, account)));
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const made = await Promise.all(
      accounts.map(({ email }) => database.db.$count(users, eq(users.email, email))),
    );
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect((await listMembers(database.db, company.id)).items).toHaveLength(1);
  });

  it('a newcomer gives an address that is in use: conflict, and the invite stays', async () => {
    const { token } = await setUp();
    const { email } = await createUser(database.db);
    await expect(join(token, { ...newcomer(), email })).rejects.toMatchObject({ kind: 'conflict' });
    const user = await join(token);
    expect(user).toMatchObject({ instance_role: 'member', is_active: true });
    const [entry] = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.actor_id, user.id), eq(activity.action, 'invite.accepted')));
    expect(entry!.actor_name).toBe('New');
  });
});
