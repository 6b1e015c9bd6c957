import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createProject, findCompanyProject } from '../projects/index.ts';
import { createGoal, findCompanyGoal, goalChain } from './index.ts';

const { goals, projects } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const goal = async (title: string, parent_goal_id: string | null = null, description?: string) =>
    transaction(database, async (tx) =>
      createGoal(tx, actors.system, company.id, {
        title,
        parent_goal_id,
        level: 'team',
        ...(description !== undefined && { description }),
      }),
    );
  const told = async (id: string) => {
    const of = goalChain(sql`${company.id}::uuid`, sql`${id}::uuid`);
    const { rows } = await database.db.execute<{
      goals: { title: string; description: string | null }[] | null;
    }>(sql`select ${of} as goals`);
    return rows[0]?.goals ?? [];
  };
  const chain = async (id: string) => (await told(id)).map(({ title }) => title);
  return { company, goal, chain, told };
}

describe('goals', () => {
  it('tell why, nearest first', async () => {
    const { goal, chain } = await setUp();
    const top = await goal('top');
    const middle = await goal('middle', top.id);
    const low = await goal('low', middle.id);
    expect(await chain(low.id)).toEqual(['low', 'middle', 'top']);
    expect(await chain(top.id)).toEqual(['top']);
  });

  it('tell the beginning of a long description only', async () => {
    const { goal, told } = await setUp();
    const { id } = await goal('long', null, 'x'.repeat(20_000));
    expect(await told(id)).toMatchObject([{ description: 'x'.repeat(10_000) }]);
  });

  it('end their chain at a trashed goal, at another company’s and in a circle', async () => {
    const { goal, chain } = await setUp();
    const [top, strange] = [await goal('top'), await (await setUp()).goal('strange')];
    const low = await goal('low', top.id);
    await database.db.update(goals).set({ parent_goal_id: low.id }).where(eq(goals.id, top.id));
    expect(await chain(low.id)).toEqual(['low', 'top']);
    await database.db.update(goals).set({ deleted_at: new Date() }).where(eq(goals.id, top.id));
    expect(await chain(low.id)).toEqual(['low']);
    await database.db.update(goals).set({ parent_goal_id: strange.id }).where(eq(goals.id, low.id));
    expect(await chain(low.id)).toEqual(['low']);
  });

  it('are found in their company only, and not in the trash; projects likewise', async () => {
    const { company, goal } = await setUp();
    const other = await createCompany(database.db);
    const { id } = await goal('g');
    const project = await transaction(database, async (tx) =>
      createProject(tx, actors.system, company.id, { name: 'p', goal_id: id }),
    );
    expect(await findCompanyGoal(database.db, company.id, id)).toMatchObject({ title: 'g', level: 'team' });
    expect(await findCompanyGoal(database.db, other.id, id)).toBeUndefined();
    expect(await findCompanyGoal(database.db, company.id, 'no-id')).toBeUndefined();
    expect(await findCompanyProject(database.db, company.id, project.id)).toMatchObject({
      name: 'p',
      goal_id: id,
    });
    expect(await findCompanyProject(database.db, other.id, project.id)).toBeUndefined();
    await database.db.update(projects).set({ deleted_at: new Date() }).where(eq(projects.id, project.id));
    expect(await findCompanyProject(database.db, company.id, project.id)).toBeUndefined();
  });
});
