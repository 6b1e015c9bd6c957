import { beforeAll, describe, expect, it } from '@jest/globals';
import { createValidator, CreateView } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createUser, databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { createView, deleteOwnerlessViews, deleteView, findView, listViews, updateView } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const person = async () => actors.user(await createUser(database.db), { [company.id]: 'member' });
  const [ada, bob] = [await person(), await person()];
  const names = async (who = ada) =>
    (await listViews(database.db, who, company.id, {})).items.map(({ name }) => name).toSorted();
  return { company, ada, bob, names };
}

describe('saved views', () => {
  it('are their owner’s alone until they are shared', async () => {
    const s = await stage();
    const filter = { status: ['todo'], sort: 'priority' } as const;
    const made = await transaction(database, async (tx) =>
      createView(tx, s.ada, s.company.id, { name: ' Mine ', filter: { ...filter, status: ['todo'] } }),
    );
    expect(made).toMatchObject({ name: 'Mine', layout: 'list', filter, shared: false });
    expect([await s.names(), await s.names(s.bob)]).toEqual([['Mine'], []]);
    expect(await findView(database.db, made.id, s.bob)).toBeUndefined();
    await transaction(database, async (tx) => {
      const found = (await findView(tx, made.id, s.ada))!;
      await updateView(tx, s.ada, found, { shared: true });
    });
    expect(await s.names(s.bob)).toEqual(['Mine']);
    await transaction(database, async (tx) => deleteView(tx, s.bob, (await findView(tx, made.id, s.bob))!));
    expect(await s.names()).toEqual([]);
  });

  it('with a field that no filter has are refused, and shown without it where they are there already', async () => {
    const s = await stage();
    const check = createValidator(CreateView, 'body');
    expect(() => check({ name: 'Odd', filter: { colour: 'red' } })).toThrow(/additional properties: colour/);
    const made = await transaction(database, async (tx) =>
      createView(tx, s.ada, s.company.id, { name: 'Old', filter: { priority: 'high' } }),
    );
    const filter = { priority: 'high', colour: 'red' };
    await database.db.update(schema.saved_views).set({ filter }).where(eq(schema.saved_views.id, made.id));
    const { items } = await listViews(database.db, s.ada, s.company.id, {});
    expect(items.map((view) => view.filter)).toEqual([{ priority: 'high' }]);
  });

  it('have names that their owner uses once, and are a hundred at most', async () => {
    const s = await stage();
    const make = async (name: string, who = s.ada) =>
      transaction(database, async (tx) => createView(tx, who, s.company.id, { name }));
    await make('Todo');
    await expect(make('TODO')).rejects.toMatchObject({ kind: 'conflict' });
    await make('Todo', s.bob);
    for (let index = 1; index < 100; index += 1) await make(`View ${index}`);
    await expect(make('One more')).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('are a hundred at most, too, when several are made at the same time', async () => {
    const s = await stage();
    const view = {
      company_id: s.company.id,
      owner_id: s.ada.user_id,
      layout: 'list',
      filter: {},
      shared: false,
    };
    await database.db
      .insert(schema.saved_views)
      .values(Array.from({ length: 98 }, (_, index) => ({ ...view, name: `View ${index}` })));
    const made = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map(async (name) =>
        transaction(database, async (tx) => createView(tx, s.ada, s.company.id, { name })),
      ),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });

  it('go with their owner, but for shared ones', async () => {
    const s = await stage();
    const make = async (who: typeof s.ada, name: string, shared = false) =>
      transaction(database, async (tx) => createView(tx, who, s.company.id, { name, shared }));
    await make(s.ada, 'Kept');
    await make(s.bob, 'Shared', true);
    await make(s.bob, 'Gone');
    const agent = await createAgent(database.db, s.company);
    const key = { kind: 'agent', agent_id: agent.id, company_id: s.company.id, name: 'Agent' } as const;
    const asAgent = { ...key, key_id: null, permissions: {}, run_id: null, depth: 0 };
    await transaction(database, async (tx) => createView(tx, asAgent, s.company.id, { name: 'Agent’s' }));
    const { agents, memberships, saved_views } = schema;
    const members = [s.ada, s.bob].map(({ user_id }) => ({
      company_id: s.company.id,
      user_id,
      role: 'member',
    }));
    await database.db.insert(memberships).values(members);
    const left = async () => {
      await deleteOwnerlessViews(database.db);
      const rows = await database.db
        .select({ name: saved_views.name })
        .from(saved_views)
        .where(eq(saved_views.company_id, s.company.id));
      return rows.map(({ name }) => name).toSorted();
    };
    expect(await left()).toEqual(['Agent’s', 'Gone', 'Kept', 'Shared']);
    await database.db.delete(memberships).where(eq(memberships.user_id, s.bob.user_id));
    await database.db.update(agents).set({ status: 'terminated' }).where(eq(agents.id, agent.id));
    expect(await left()).toEqual(['Kept', 'Shared']);
  });
});
