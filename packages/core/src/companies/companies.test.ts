import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createMembership, createUser, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import {
  createCompany,
  deleteCompany,
  findCompany,
  identifierPrefix,
  listCompanies,
  updateCompany,
} from './companies.ts';
import { clearSetting, putSetting } from '../settings/index.ts';
import type { HomeRules } from './home-dir.ts';
import {
  addMember,
  setMembershipRole,
  isMember,
  listCompanyUsers,
  listOutsiders,
  listMembers,
  deleteMembership,
} from './members.ts';

const { activity, memberships } = schema;

let database: Database;
let folder: string;
beforeAll(async () => {
  database = await databaseWithQueue();
  folder = await mkdtemp(join(tmpdir(), 'companies-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const inTx = <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
const slug = () => `c-${newId()}`;
const create = () => inTx((tx) => createCompany(tx, actors.system, { name: 'A Company', slug: slug() }));

describe('a company', () => {
  it('is created by a user: the user is its admin', async () => {
    const user = await createUser(database.db);
    const company = await inTx((tx) =>
      createCompany(tx, actors.instanceAdmin(user), { name: 'Mine', slug: slug() }),
    );
    expect((await listMembers(database.db, company.id)).items).toMatchObject([
      { user_id: user.id, role: 'admin' },
    ]);
    expect(company).toMatchObject({
      agent_default_adapter_type: 'llm',
      default_worker_tags: [],
      home_dir: null,
    });
  });

  it('the instance has a default adapter type: it is the company’s own from its creation on', async () => {
    const made = await inTx(async (tx) => {
      await putSetting(tx, 'default_adapter_type', 'remote');
      const company = await createCompany(tx, actors.system, { name: 'C', slug: slug() });
      // The setting applies to the whole instance, including other tests.
      await clearSetting(tx, 'default_adapter_type');
      return company;
    });
    expect(made.agent_default_adapter_type).toBe('remote');
    expect(await findCompany(database.db, made.id)).toMatchObject({ agent_default_adapter_type: 'remote' });
  });

  it.each([
    ['acme', 'ACM'],
    ['a-b-c-d', 'ABC'],
    ['x', 'X'],
    ['4-you', '4YO'],
  ])('has the slug %s: its issues are named %s-1 and on', (of, prefix) => {
    expect(identifierPrefix(of)).toBe(prefix);
  });

  it('the slug is taken: conflict, also by a change; free again once the other is in the trash', async () => {
    const [one, two] = [await create(), await create()];
    const take = () => inTx((tx) => updateCompany(tx, actors.system, two.id, { slug: one.slug }));
    const again = inTx((tx) => createCompany(tx, actors.system, { name: 'X', slug: one.slug }));
    await expect(again).rejects.toMatchObject({ kind: 'conflict' });
    await expect(take()).rejects.toMatchObject({ kind: 'conflict' });
    await inTx((tx) => deleteCompany(tx, actors.system, one.id));
    expect(await take()).toMatchObject({ slug: one.slug });
  });

  it('eight ask for one slug at once: one gets it', async () => {
    const wanted = slug();
    const done = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        inTx((tx) => createCompany(tx, actors.system, { name: 'X', slug: wanted })),
      ),
    );
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('a field is absent: left alone; null clears; the change is in the activity', async () => {
    const company = await create();
    const tags = { default_worker_tags: ['gpu', 'eu'] };
    expect(await inTx((tx) => updateCompany(tx, actors.system, company.id, tags))).toMatchObject({
      ...tags,
      name: 'A Company',
      slug: company.slug,
    });
    const [entry] = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.company_id, company.id), eq(activity.action, 'company.updated')));
    expect(entry!.details).toEqual(tags);
  });

  it('is deleted: absent from then on, for deletes too, and its work is settled by a job', async () => {
    const company = await create();
    const remove = () => inTx((tx) => deleteCompany(tx, actors.system, company.id));
    expect(await remove()).toEqual({ deleted: company.id });
    expect(await findCompany(database.db, company.id)).toBeUndefined();
    expect(await listCompanies(database.db, [company.id])).toEqual([]);
    expect(await queuedJobs(database.db, 'settle-company', { company_id: company.id })).toHaveLength(1);
    await expect(remove()).rejects.toMatchObject({ kind: 'not_found' });
    const change = inTx((tx) => updateCompany(tx, actors.system, company.id, { name: 'Back' }));
    await expect(change).rejects.toMatchObject({ kind: 'not_found' });
  });
});

const rules = (assigned: HomeRules['assigned'] = {}): HomeRules => ({ service_home: folder, assigned });
const setHome = (id: string, home_dir: string | null, homes?: HomeRules) =>
  inTx((tx) => updateCompany(tx, actors.system, id, { home_dir }, homes));

describe('home_dir of a company', () => {
  it('lies in the company’s own folder, there or not yet: set; null clears it', async () => {
    const { id } = await create();
    const home_dir = join(folder, 'companies', id, 'work');
    expect(await setHome(id, home_dir, rules())).toMatchObject({ home_dir });
    expect(await setHome(id, null, rules())).toMatchObject({ home_dir: null });
  });

  it('lies in a folder that the operator assigned, by id or slug: set', async () => {
    const { id, slug: of } = await create();
    for (const name of [id, of]) {
      const roots = rules({ [name]: [join(folder, 'assigned')] });
      expect(await setHome(id, join(folder, 'assigned', 'x'), roots)).toMatchObject({ id });
    }
  });

  it('lies in another company’s folder, or anywhere else: invalid', async () => {
    const [one, two] = [await create(), await create()];
    const own = join(folder, 'companies', one.id);
    await mkdir(own, { recursive: true });
    await symlink('/etc', join(own, 'link'));
    const roots = rules({ [two.slug]: [join(folder, 'theirs')] });
    for (const path of [
      join(folder, 'companies', two.id),
      join(folder, 'theirs'),
      join(own, '..'),
      `${own}/../${two.id}`,
      join(own, 'link'),
      join(own, 'link', 'ssh'),
      join(own, 'agents', two.id),
      join(own, 'workspaces'),
      join(own, 'repositories', 'x.git'),
      '/etc',
      'relative',
      `${own}\0`,
    ]) {
      await expect(setHome(one.id, path, roots)).rejects.toMatchObject({ kind: 'invalid' });
    }
    await expect(setHome(one.id, own)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('comes with another’s slug in one change: the slug so far decides', async () => {
    const { id } = await create();
    const wanted = slug();
    const roots = rules({ [wanted]: [join(folder, 'assigned')] });
    const input = { slug: wanted, home_dir: join(folder, 'assigned') };
    const change = inTx((tx) => updateCompany(tx, actors.system, id, input, roots));
    await expect(change).rejects.toMatchObject({ kind: 'invalid' });
  });
});

const setUp = async () => ({ company: await create(), user: await createUser(database.db) });

describe('members', () => {
  it('those who could be added are listed by name: no members, nobody deactivated', async () => {
    const company = await create();
    const named = (display_name: string, is_active = true) =>
      createUser(database.db, { display_name, is_active });
    await createMembership(database.db, company, await named('0 a member'));
    await named('0 deactivated', false);
    const ids = [(await named('0 Ada')).id, (await named('0 bob')).id];
    const listed = await listOutsiders(database.db, company.id, 500);
    expect(listed.filter(({ display_name }) => display_name.startsWith('0 ')).map(({ id }) => id)).toEqual(
      ids,
    );
    expect((await listOutsiders(database.db, company.id, 1)).map(({ id }) => id)).toEqual(ids.slice(0, 1));
  });

  it('a user is added, changed and removed, each once', async () => {
    const { company, user } = await setUp();
    const add = () => inTx((tx) => addMember(tx, actors.system, company.id, { user_id: user.id }));
    expect(await add()).toMatchObject({ role: 'member', user_id: user.id });
    await expect(add()).rejects.toMatchObject({ kind: 'conflict' });
    const changed = await inTx((tx) =>
      setMembershipRole(tx, actors.system, company.id, user.id, { role: 'viewer' }),
    );
    expect(changed).toMatchObject({ role: 'viewer' });
    expect((await listCompanyUsers(database.db, company.id)).items).toMatchObject([
      { email: user.email, display_name: user.display_name, role: 'viewer' },
    ]);
    const remove = () => inTx((tx) => deleteMembership(tx, actors.system, company.id, user.id));
    await remove();
    expect(await isMember(database.db, company.id, user.id)).toBe(false);
    await expect(remove()).rejects.toMatchObject({ kind: 'not_found' });
    const actions = await database.db
      .select({ action: activity.action })
      .from(activity)
      .where(eq(activity.entity_id, user.id));
    expect(actions.map(({ action }) => action).toSorted()).toEqual([
      'member.added',
      'member.changed',
      'member.removed',
    ]);
  });

  it('the user is unknown: notFound', async () => {
    const { company } = await setUp();
    const add = inTx((tx) => addMember(tx, actors.system, company.id, { user_id: newId() }));
    await expect(add).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('the member is another company’s: neither changed nor removed', async () => {
    const { company, user } = await setUp();
    const other = await create();
    await createMembership(database.db, other, user);
    const change = inTx((tx) => setMembershipRole(tx, actors.system, company.id, user.id, { role: 'admin' }));
    await expect(change).rejects.toMatchObject({ kind: 'not_found' });
    const remove = inTx((tx) => deleteMembership(tx, actors.system, company.id, user.id));
    await expect(remove).rejects.toMatchObject({ kind: 'not_found' });
    expect(await isMember(database.db, other.id, user.id)).toBe(true);
  });

  it('one user is added eight times at once: a member once', async () => {
    const { company, user } = await setUp();
    const done = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        inTx((tx) => addMember(tx, actors.system, company.id, { user_id: user.id, role: 'admin' })),
      ),
    );
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await database.db.$count(memberships, eq(memberships.company_id, company.id))).toBe(1);
  });

  it('the list is paged: everybody once', async () => {
    const { company } = await setUp();
    for (let n = 0; n < 5; n += 1)
      await createMembership(database.db, company, await createUser(database.db));
    const all = (await listMembers(database.db, company.id)).items;
    const first = await listMembers(database.db, company.id, { limit: 3 });
    const second = await listMembers(database.db, company.id, { limit: 3, cursor: first.next_cursor! });
    expect([...first.items, ...second.items]).toEqual(all);
    expect(second.next_cursor).toBeNull();
  });
});
