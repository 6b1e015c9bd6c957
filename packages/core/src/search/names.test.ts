import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createAgent, createCompany, databaseWithQueue } from '@acp/testkit';
import { findNames, namedExactly, namesOf, offeredNames } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const { db } = database;
  const company = await createCompany(db);
  const agent = async (name: string, values = {}) => createAgent(db, company, { name, ...values });
  const ada = await agent('Ada');
  const found = async (text: string, limit = 10) =>
    (await findNames(db, company.id, 'agent', text, limit)).map(({ unique_name }) => unique_name);
  const named = async (text: string) =>
    (await namedExactly(db, company.id, 'agent', text)).map(({ id }) => id);
  return { company, agent, ada, found, named };
}

describe('names to choose from', () => {
  it('are found by their words, without case and accents, by roles, and first by how they begin', async () => {
    const s = await stage();
    for (const name of ['Granada', 'Adam Smith', 'Zoë']) await s.agent(name, { role: 'designer' });
    expect(await s.found(' ada ')).toEqual(['Ada', 'Adam Smith', 'Granada']);
    expect(await s.found('ada', 2)).toEqual(['Ada', 'Adam Smith']);
    expect(await s.found('smith ADAM')).toEqual(['Adam Smith']);
    expect(await s.found('zoe')).toEqual(['Zoë']);
    expect(await s.found('designer')).toEqual(['Adam Smith', 'Granada', 'Zoë']);
    expect([await s.found('%'), await s.found('Ada_')]).toEqual([[], []]);
    expect(await s.found('')).toHaveLength(4);
  });

  it('lead to the one that has them, whole and in any case; those that are shared by the beginning of the id', async () => {
    const s = await stage();
    expect([await s.named('ADA'), await s.named(' Ada ')]).toEqual([[s.ada.id], [s.ada.id]]);
    expect([await s.named('Ad'), await s.named('')]).toEqual([[], []]);
    const second = await s.agent('ada');
    expect((await s.named('Ada')).toSorted()).toEqual([s.ada.id, second.id].toSorted());
    const [first] = await namesOf(database.db, s.company.id, 'agent', [second.id]);
    expect(first!.unique_name).toBe(`ada (${second.id.slice(0, 8)})`);
    expect(await s.named(first!.unique_name)).toEqual([second.id]);
    expect(await s.found(first!.unique_name)).toEqual([first!.unique_name]);
  });

  it('are those of what can be chosen; what was chosen before is known all the same', async () => {
    const s = await stage();
    const { db } = database;
    const gone = await s.agent('Gone', { deleted_at: new Date() });
    const ended = await s.agent('Ended', { parent_agent_id: s.ada.id, status: 'terminated' });
    const former = await s.agent('Ada', { deleted_at: new Date() });
    const offered = await offeredNames(db, s.company.id, 'agent', 10);
    expect(offered.map(({ id, unique_name }) => [id, unique_name])).toEqual([[s.ada.id, 'Ada']]);
    expect([await s.named('Gone'), await s.named('Ended')]).toEqual([[], []]);
    const known = await namesOf(db, s.company.id, 'agent', [gone.id, ended.id, former.id]);
    expect(known.map(({ unique_name }) => unique_name).toSorted()).toEqual([
      `Ada (${former.id.slice(0, 8)})`,
      'Ended',
      'Gone',
    ]);
  });

  it('belong to one company, for each kind of them', async () => {
    const s = await stage();
    const { db } = database;
    const other = await createCompany(db);
    await db.insert(schema.projects).values({ company_id: s.company.id, name: 'Books' });
    await db.insert(schema.goals).values({ company_id: s.company.id, title: 'More books' });
    await db.insert(schema.labels).values({ company_id: s.company.id, name: 'book' });
    for (const kind of ['agent', 'project', 'goal', 'label'] as const) {
      const text = kind === 'agent' ? 'ada' : 'book';
      expect(await findNames(db, s.company.id, kind, text, 5)).toHaveLength(1);
      expect(await findNames(db, other.id, kind, text, 5)).toEqual([]);
    }
    expect(await namesOf(db, other.id, 'agent', [s.ada.id])).toEqual([]);
  });
});
