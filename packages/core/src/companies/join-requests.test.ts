import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createCompany, createMembership, createUser, databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import {
  deleteBoardUserKey,
  findBoardUserKey,
  listBoardUserKeys,
  mintBoardUserKey,
} from './board-user-keys.ts';
import { deleteCompany } from './companies.ts';
import { findJoinRequest, listJoinRequests, requestToJoin, resolveJoinRequest } from './join-requests.ts';
import { listMembers } from './members.ts';

const { board_user_keys, join_requests } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const inTx = <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);

async function setUp() {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  const actor = actors.user(user);
  const ask = (message?: string) =>
    inTx((tx) =>
      requestToJoin(tx, actor, { company_id: company.id, ...(message === undefined ? {} : { message }) }),
    );
  const admin = actors.user(await createUser(database.db), { [company.id]: 'admin' });
  const resolve = async (id: string, status: 'approved' | 'rejected') => {
    const request = (await findJoinRequest(database.db, id))!;
    return inTx((tx) => resolveJoinRequest(tx, admin, request, status));
  };
  const members = async () => (await listMembers(database.db, company.id)).items;
  return { company, user, admin, ask, resolve, members };
}

describe('a join request', () => {
  it('is the first: pending; the second while it is pending: the same', async () => {
    const { company, user, ask } = await setUp();
    const first = await ask('please');
    expect(first).toMatchObject({
      created: true,
      request: { status: 'pending', message: 'please', user_id: user.id },
    });
    expect(await ask('again')).toEqual({ created: false, request: first.request });
    expect((await listJoinRequests(database.db, company.id, {})).items).toEqual([first.request]);
  });

  it('ten come at once: one row', async () => {
    const { company, ask } = await setUp();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(answers.map(({ request }) => request.id)).size).toBe(1);
    expect(await database.db.$count(join_requests, eq(join_requests.company_id, company.id))).toBe(1);
  });

  it('the company is unknown or in the trash: notFound; the user is a member: conflict', async () => {
    const { company, user, ask } = await setUp();
    const unknown = inTx((tx) => requestToJoin(tx, actors.user(user), { company_id: newId() }));
    await expect(unknown).rejects.toMatchObject({ kind: 'not_found' });
    await createMembership(database.db, company, user, 'viewer');
    await expect(ask()).rejects.toMatchObject({ kind: 'conflict' });
    await inTx((tx) => deleteCompany(tx, actors.system, company.id));
    await expect(ask()).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is approved: the user is a member; nothing can be decided twice', async () => {
    const { user, admin, ask, resolve, members } = await setUp();
    const { request } = await ask();
    expect(await resolve(request.id, 'approved')).toMatchObject({
      status: 'approved',
      resolved_by: admin.user_id,
      resolved_at: expect.any(Date),
    });
    expect(await members()).toMatchObject([{ user_id: user.id, role: 'member' }]);
    await expect(resolve(request.id, 'rejected')).rejects.toMatchObject({ kind: 'conflict' });
    await expect(resolve(request.id, 'approved')).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('is rejected: no member, and the user may ask again', async () => {
    const { ask, resolve, members } = await setUp();
    const { request } = await ask();
    await resolve(request.id, 'rejected');
    expect(await members()).toEqual([]);
    expect(await ask()).toMatchObject({ created: true });
  });

  it('is approved and rejected at once: one of it happens', async () => {
    const { ask, resolve, members } = await setUp();
    const { request } = await ask();
    const done = await Promise.allSettled([resolve(request.id, 'approved'), resolve(request.id, 'rejected')]);
    expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const row = await findJoinRequest(database.db, request.id);
    expect(await members()).toHaveLength(row!.status === 'approved' ? 1 : 0);
  });

  it('the user became a viewer meanwhile: approval leaves the role', async () => {
    const { company, user, ask, resolve, members } = await setUp();
    const { request } = await ask();
    await createMembership(database.db, company, user, 'viewer');
    await resolve(request.id, 'approved');
    expect(await members()).toMatchObject([{ role: 'viewer' }]);
  });

  it('its company goes to the trash: absent', async () => {
    const { company, ask } = await setUp();
    const { request } = await ask();
    await inTx((tx) => deleteCompany(tx, actors.system, company.id));
    expect(await findJoinRequest(database.db, request.id)).toBeUndefined();
  });
});

const mint = (company_id: string, label: string | null = null) =>
  inTx((tx) => mintBoardUserKey(tx, actors.system, company_id, { role: 'member', label }));

describe('a board-user key', () => {
  it('is minted: shown once, stored as its hash, listed without it', async () => {
    const { company } = await setUp();
    const { raw_key, ...key } = await mint(company.id, 'CI');
    expect(raw_key).toMatch(/^sk_[0-9a-f]{64}$/);
    expect(key).toMatchObject({ key_prefix: raw_key.slice(0, 8), label: 'CI', role: 'member' });
    const [row] = await database.db.select().from(board_user_keys).where(eq(board_user_keys.id, key.id));
    expect(JSON.stringify(row)).not.toContain(raw_key);
    expect((await listBoardUserKeys(database.db, company.id, {})).items).toEqual([key]);
  });

  it('is revoked by its own company only', async () => {
    const [one, two] = [await setUp(), await setUp()];
    const { id } = await mint(one.company.id);
    const revoke = (company_id: string) =>
      inTx((tx) => deleteBoardUserKey(tx, actors.system, company_id, id));
    await expect(revoke(two.company.id)).rejects.toMatchObject({ kind: 'not_found' });
    await revoke(one.company.id);
    expect(await findBoardUserKey(database.db, id)).toBeUndefined();
    await expect(revoke(one.company.id)).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('there are more than 50: a page of 50 unless asked otherwise, all of them for the operator', async () => {
    const { company } = await setUp();
    const values = Array.from({ length: 60 }, () => ({
      company_id: company.id,
      role: 'viewer',
      key_hash: newId(),
      key_prefix: 'sk_00000',
    }));
    await database.db.insert(board_user_keys).values(values);
    expect((await listBoardUserKeys(database.db, company.id, {})).items).toHaveLength(50);
    expect((await listBoardUserKeys(database.db, company.id, {}, null)).items).toHaveLength(60);
  });
});
