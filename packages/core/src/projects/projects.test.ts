import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue, nextInstant } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { createGoal, deleteGoal, listGoals, findGoal, updateGoal } from '../goals/index.ts';
import { createIssue } from '../issues/index.ts';
import { createRoutine } from '../routines/index.ts';
import { createProject, deleteProject, listProjects, findProject, updateProject } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const actor = actors.board(company, 'member');
  const project = async (input: Parameters<typeof createProject>[3]) =>
    transaction(database, async (tx) => createProject(tx, actor, company.id, input));
  const goal = async (input: Parameters<typeof createGoal>[3]) =>
    transaction(database, async (tx) => createGoal(tx, actor, company.id, input));
  return { company, actor, project, goal };
}

describe('a project', () => {
  it('has its defaults, and an event for plugins that carries no text', async () => {
    const { project } = await setUp();
    const made = await project({ name: 'P', description: 'long' });
    expect(made).toMatchObject({ status: 'active', file_backend: 'local', default_worker_tags: [] });
    const rows = await database.db.select().from(schema.outbox);
    const events = rows.filter(
      ({ type, data }) => type === 'project_created' && (data as { id: string }).id === made.id,
    );
    expect(events).toHaveLength(1);
    expect(events[0]!.data).not.toHaveProperty('description');
  });

  it('names only goals and agents of its company, and a module backend needs an endpoint', async () => {
    const { company, actor, project, goal } = await setUp();
    const strange = await setUp();
    const mine = {
      goal_id: (await goal({ title: 'G' })).id,
      lead_agent_id: (await createAgent(database.db, company)).id,
    };
    const { id } = await project({ name: 'P', ...mine });
    const strangers = [
      { goal_id: (await strange.goal({ title: 'G' })).id },
      { lead_agent_id: (await createAgent(database.db, strange.company)).id },
      { file_backend: 'module' as const },
    ];
    const update = async (input: Parameters<typeof updateProject>[3]) =>
      transaction(database, async (tx) => updateProject(tx, actor, (await findProject(tx, id))!, input));
    for (const input of strangers) {
      await expect(project({ name: 'P', ...input })).rejects.toMatchObject({ kind: 'invalid' });
      await expect(update(input)).rejects.toMatchObject({ kind: 'invalid' });
    }
    const module_endpoint = 'https://files.example';
    expect(await update({ file_backend: 'module', module_endpoint, goal_id: null })).toMatchObject({
      module_endpoint,
      goal_id: null,
      lead_agent_id: mine.lead_agent_id,
    });
    await expect(update({ module_endpoint: null })).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('that an admin gives a repository and its secret keeps them, whatever a member has read before', async () => {
    const { company, actor, project } = await setUp();
    const { id } = await project({ name: 'P', repo_url: 'https://git.example/old.git' });
    const read = (await findProject(database.db, id))!;
    const given = { repo_url: 'https://git.example/own.git', repo_secret: 'TOKEN' };
    const update = async (as: typeof actor, input: typeof given | { repo_url: string }) =>
      transaction(database, async (tx) => updateProject(tx, as, read, input));
    await update(actors.board(company, 'admin'), given);
    await expect(update(actor, { repo_url: 'https://elsewhere.example/x.git' })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    expect(await findProject(database.db, id)).toMatchObject(given);
  });

  it('is listed newest first, by status, and not from the trash', async () => {
    const { company, actor, project } = await setUp();
    await project({ name: '1' });
    await nextInstant();
    await project({ name: '2', status: 'paused' });
    await nextInstant();
    const third = await project({ name: '3' });
    const names = async (query: Parameters<typeof listProjects>[2] = {}) =>
      (await listProjects(database.db, company.id, query)).items.map(({ name }) => name);
    expect(await names()).toEqual(['3', '2', '1']);
    expect(await names({ status: 'paused, archived' })).toEqual(['2']);
    await expect(names({ status: 'lost' })).rejects.toMatchObject({ kind: 'invalid' });
    await transaction(database, async (tx) => deleteProject(tx, actor, (await findProject(tx, third.id))!));
    expect(await names()).toEqual(['2', '1']);
    const again = transaction(database, async (tx) =>
      deleteProject(tx, actor, {
        ...(await database.db.select().from(schema.projects).where(eq(schema.projects.id, third.id)))[0]!,
      }),
    );
    await expect(again).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('a goal', () => {
  it('takes no parent that lies below it or in another company', async () => {
    const { company, actor, goal } = await setUp();
    const top = await goal({ title: 'top' });
    await nextInstant();
    const low = await goal({ title: 'low', parent_goal_id: top.id });
    const update = async (id: string, parent_goal_id: string | null) =>
      transaction(database, async (tx) =>
        updateGoal(tx, actor, (await findGoal(tx, id))!, { parent_goal_id }),
      );
    await expect(update(top.id, low.id)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(update(top.id, top.id)).rejects.toMatchObject({ kind: 'invalid' });
    const strange = await (await setUp()).goal({ title: 'strange' });
    await expect(update(low.id, strange.id)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await update(low.id, null)).toMatchObject({ parent_goal_id: null });
    expect(await update(top.id, low.id)).toMatchObject({ parent_goal_id: low.id });
    const { items } = await listGoals(database.db, company.id, { status: 'active' });
    expect(items.map(({ title }) => title)).toEqual(['low', 'top']);
  });

  it('is unknown to projects, issues and routines while what it lies below is in the trash', async () => {
    const { company, actor, project, goal } = await setUp();
    const top = await goal({ title: 'top' });
    const { id: goal_id } = await goal({ title: 'low', parent_goal_id: top.id });
    const naming = [
      () => project({ name: 'P', goal_id }),
      () => transaction(database, async (tx) => createIssue(tx, actor, company.id, { title: 'I', goal_id })),
      () =>
        transaction(database, async (tx) =>
          createRoutine(tx, actor, company.id, { name: 'R', title_template: 'R', goal_id }),
        ),
    ];
    for (const name of naming) expect(await name()).toMatchObject({ goal_id });
    await transaction(database, async (tx) => deleteGoal(tx, actor, (await findGoal(tx, top.id))!));
    for (const name of naming) await expect(name()).rejects.toThrow('goal_id: unknown goal');
  });

  it('closes no circle with another change at the same moment', async () => {
    const { actor, goal } = await setUp();
    const [a, b] = [await goal({ title: 'a' }), await goal({ title: 'b' })];
    const under = async (id: string, parent_goal_id: string) =>
      transaction(database, async (tx) =>
        updateGoal(tx, actor, (await findGoal(tx, id))!, { parent_goal_id }),
      );
    const outcomes = await Promise.allSettled([under(a.id, b.id), under(b.id, a.id)]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});
