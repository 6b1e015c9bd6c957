import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  nextInstant,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import {
  createExecutionDecision,
  createWorkProduct,
  deleteWorkProduct,
  findWorkProduct,
  listExecutionDecisions,
  listWorkProducts,
  updateWorkProduct,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const issue = await createIssue(database.db, company);
  const human = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const create = async (input: Partial<Parameters<typeof createWorkProduct>[3]> = {}, actor = human) =>
    transaction(database, (tx) => createWorkProduct(tx, actor, issue, { title: 'A report', ...input }));
  const find = async (id: string) => findWorkProduct(database.db, id);
  return { company, issue, human, create, find };
}

describe('work products', () => {
  it('one with a title only has its defaults', async () => {
    const s = await stage();
    expect(await s.create()).toMatchObject({
      issue_id: s.issue.id,
      company_id: s.company.id,
      title: 'A report',
      type: 'artifact',
      status: 'active',
      review_state: 'none',
      is_primary: false,
      health_status: null,
      url: null,
      metadata: {},
      project_id: null,
      created_by_run_id: null,
    });
  });

  it('is given everything, and names only projects and runs of its company', async () => {
    const [s, other] = [await stage(), await stage()];
    const [project] = await database.db
      .insert(schema.projects)
      .values({ company_id: s.company.id, name: 'P' })
      .returning();
    const agent = await createAgent(database.db, s.company);
    const [run] = await database.db
      .insert(schema.heartbeat_runs)
      .values({ company_id: s.company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type: 'llm' })
      .returning();
    const input = {
      type: 'pull_request',
      provider: 'forge',
      external_id: '12',
      url: 'https://forge.example/12',
      status: 'merged',
      review_state: 'approved',
      is_primary: true,
      health_status: 'healthy',
      summary: 'done',
      metadata: { lines: 3 },
      project_id: project!.id,
      created_by_run_id: run!.id,
    } as const;
    expect(await s.create(input)).toMatchObject(input);
    for (const wrong of [{ project_id: newId() }, { created_by_run_id: newId() }])
      await expect(s.create(wrong)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(other.create({ project_id: project!.id })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(other.create({ created_by_run_id: run!.id })).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('changes what the patch names, and null clears', async () => {
    const s = await stage();
    const made = await s.create({ url: 'https://a.example', summary: 'x' });
    const patch = { url: null, review_state: 'pending' } as const;
    const changed = await transaction(database, async (tx) =>
      updateWorkProduct(tx, s.human, (await s.find(made.id))!, patch),
    );
    expect(changed).toMatchObject({ ...made, ...patch, updated_at: expect.any(Date) });
    const entries = await database.db
      .select()
      .from(schema.activity)
      .where(eq(schema.activity.entity_id, made.id));
    expect(entries.map(({ action }) => action).toSorted()).toEqual([
      'work_product.created',
      'work_product.updated',
    ]);
  });

  it('is deleted for good; the second time it is not found', async () => {
    const s = await stage();
    const row = (await s.find((await s.create()).id))!;
    const remove = async () => transaction(database, (tx) => deleteWorkProduct(tx, s.human, row));
    await remove();
    expect(await s.find(row.id)).toBeUndefined();
    await expect(remove()).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is absent where its issue or company lies in the trash', async () => {
    const [a, b] = [await stage(), await stage()];
    const [one, two] = [await a.create(), await b.create()];
    const gone = { deleted_at: new Date() };
    await database.db.update(schema.issues).set(gone).where(eq(schema.issues.id, a.issue.id));
    await database.db.update(schema.companies).set(gone).where(eq(schema.companies.id, b.company.id));
    expect([await a.find(one.id), await b.find(two.id)]).toEqual([undefined, undefined]);
    expect(await a.find('nonsense')).toBeUndefined();
  });

  it('lists newest first, paged where a limit is given', async () => {
    const s = await stage();
    for (const title of ['1', '2', '3']) {
      await s.create({ title });
      await nextInstant();
    }
    const first = await listWorkProducts(database.db, s.issue, { limit: 2 });
    expect(first.items.map((each) => each.title)).toEqual(['3', '2']);
    const rest = await listWorkProducts(database.db, s.issue, { limit: 2, cursor: first.next_cursor! });
    expect(rest).toMatchObject({ items: [{ title: '1' }], next_cursor: null });
  });
});

describe('execution decisions', () => {
  it('are recorded with their author, newest first', async () => {
    const s = await stage();
    const agent = await createAgent(database.db, s.company);
    const decide = async (actor: Parameters<typeof createExecutionDecision>[1], reason: string | null) =>
      transaction(database, (tx) =>
        createExecutionDecision(tx, actor, s.issue, { decision_type: 'escalate', reason }),
      );
    await decide(s.human, 'because');
    await nextInstant();
    await decide(actors.agent(agent), null);
    const { items } = await listExecutionDecisions(database.db, s.issue, {});
    expect(items).toMatchObject([
      { created_by_agent_id: agent.id, created_by_user_id: null, reason: null, metadata: {} },
      { created_by_user_id: s.human.user_id, reason: 'because', decision_type: 'escalate' },
    ]);
  });
});
