import { beforeAll, expect, it } from '@jest/globals';
import type { IssueChange } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue, meetAt } from '@acp/testkit';
import { inArray, sql } from 'drizzle-orm';
import {
  changeIssues,
  createLabel,
  createRelation,
  deleteAgent,
  deleteIssue,
  deleteLabel,
  findAgent,
  findIssue,
  listTrash,
  purgeFromTrash,
  releaseHeldBy,
  requestWakeups,
  restoreFromTrash,
} from '../index.ts';
import { settleAgent } from '../heartbeats/index.ts';
import { consumeInbox } from '../wakeups/index.ts';
import { clearIssueReference, purgeIssue } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const act = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);
const both = ['fulfilled', 'fulfilled'];
/** The second finds nothing left to do. */
const oneFinds = [
  expect.objectContaining({ status: 'fulfilled' }),
  expect.objectContaining({ reason: expect.objectContaining({ kind: 'not_found' }) }),
];
const admin = actors.instanceAdmin({ id: '00000000-0000-4000-8000-00000000000a', display_name: 'Admin' });

/** While somebody else has the issue, begins the one, then the other, each of which waits; and lets both go on. */
const meet = async (issue_id: string, ...works: Parameters<typeof meetAt>[2]) =>
  meetAt(database, sql`select from issues where id = ${issue_id} for update`, works);

const idOf = (place: string) => `${place.repeat(8)}-0000-4000-8000-${crypto.randomUUID().slice(-12)}`;

it('an issue that two bring back at once, by undoing a deletion and from the trash, is there for both', async () => {
  const company = await createCompany(database.db);
  const [low, high] = [
    await createIssue(database.db, company, { id: idOf('0') }),
    await createIssue(database.db, company, { id: idOf('f') }),
  ];
  for (const { id } of [low, high])
    await act(async (tx) => deleteIssue(tx, admin, (await findIssue(tx, id))!));
  const entries = (await listTrash(database.db, { company_id: company.id })).items;
  const entry = entries.find(({ entity_id }) => entity_id === low.id)!;
  const back = [low, high].map(({ id }) => ({ issue_id: id, deleted: false }));
  const outcomes = await meet(
    high.id,
    async (tx) => changeIssues(tx, admin, company.id, back),
    async (tx) => restoreFromTrash(tx, admin, entry),
  );
  expect(outcomes).toEqual(oneFinds);
});

it('the checkouts of an agent that is gone are released while a lot of issues is changed', async () => {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const own = { checked_out_by_agent_id: agent.id, self_checkout_agent_id: agent.id };
  const high = await createIssue(database.db, company, { id: idOf('f'), ...own });
  const middle = await createIssue(database.db, company, { id: idOf('7') });
  const low = await createIssue(database.db, company, { id: idOf('0'), ...own });
  const set = { priority: 'critical' } as const;
  const outcomes = await meet(
    middle.id,
    async (tx) =>
      changeIssues(
        tx,
        admin,
        company.id,
        [low, middle, high].map(({ id }) => ({ issue_id: id, set })),
      ),
    async (tx) => releaseHeldBy(tx, actors.system, agent.id),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await findIssue(database.db, high.id)).toMatchObject({ ...set, checked_out_by_agent_id: null });
});

/** Issues in the order of their ids; PostgreSQL finds them the other way round. */
async function threeIssues(values: Parameters<typeof createIssue>[2] = {}) {
  const company = await createCompany(database.db);
  const make = async (place: string) => createIssue(database.db, company, { ...values, id: idOf(place) });
  const high = await make('f');
  const middle = await make('7');
  const low = await make('0');
  return { company, low, middle, high, ids: [low.id, middle.id, high.id] };
}

const asStored = async (tx: Tx) => tx.execute(sql`set local enable_indexscan = off`);

it('what refers to something that is purged is cleared while a lot of issues is changed', async () => {
  const project_id = newId();
  const { company, middle, ids } = await threeIssues({ project_id });
  const changes = ids.map((issue_id) => ({ issue_id, set: { priority: 'critical' } as const }));
  const outcomes = await meet(
    middle.id,
    async (tx) => {
      await asStored(tx);
      await clearIssueReference(tx, 'project_id', [project_id]);
    },
    async (tx) => changeIssues(tx, admin, company.id, changes),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(both);
});

it('an issue is purged with what is below it while others that are related to them are changed', async () => {
  const { company, low, middle, high } = await threeIssues();
  const parts = [low, middle].map(({ id }) => id);
  await database.db
    .update(schema.issues)
    .set({ parent_issue_id: high.id })
    .where(inArray(schema.issues.id, parts));
  const others: IssueChange[] = [];
  for (const target of [low, middle, high]) {
    const other = await createIssue(database.db, company);
    await act(async (tx) =>
      createRelation(tx, admin, (await findIssue(tx, other.id))!, { target_issue_id: target.id }),
    );
    others.push({ issue_id: other.id, set: { priority: 'critical' } as const });
  }
  await act(async (tx) => deleteIssue(tx, admin, (await findIssue(tx, high.id))!));
  const outcomes = await meet(
    middle.id,
    async (tx) => {
      await asStored(tx);
      return purgeIssue(tx, high.id);
    },
    async (tx) => changeIssues(tx, admin, company.id, others),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(both);
});

it('a label is deleted while it is taken off a lot of issues', async () => {
  const { company, low, middle, high } = await threeIssues();
  const label = await act(async (tx) => createLabel(tx, admin, company.id, { name: 'bug' }));
  const on = async (issues: readonly { id: string }[]) =>
    act(async (tx) =>
      changeIssues(
        tx,
        admin,
        company.id,
        issues.map(({ id }) => ({ issue_id: id, add_label_ids: [label.id] })),
      ),
    );
  await on([low, middle, high]);
  const changes = [high, middle, low].map(({ id }) => ({ issue_id: id, remove_label_ids: [label.id] }));
  const outcomes = await meetAt(
    database,
    sql`select from issue_labels where issue_id = ${middle.id} for update`,
    [
      async (tx) => changeIssues(tx, admin, company.id, changes),
      async (tx) => deleteLabel(tx, admin, company.id, label.id),
    ],
  );
  expect(outcomes.map(({ status }) => status)).toEqual(both);
  await expect(on([low])).rejects.toMatchObject({ kind: 'invalid' });
});

it.each([
  ['ends', { set: { status: 'done' } }],
  ['is deleted', { deleted: true }],
] as const)(
  'a lot of issues %s that others wait for while their agent looks into its inbox',
  async (_what, change) => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const waiting = await Promise.all(
      ['0', '7', 'f'].map(async (place) =>
        createIssue(database.db, company, {
          id: idOf(place),
          status: 'blocked',
          assignee_agent_id: agent.id,
        }),
      ),
    );
    const changes: IssueChange[] = [];
    for (const { id } of waiting.toReversed()) {
      const part = await createIssue(database.db, company, { parent_issue_id: id });
      changes.push({ issue_id: part.id, ...change });
    }
    const of = { company_id: company.id, agent_id: agent.id, reason: 'comment' } as const;
    await act(async (tx) =>
      requestWakeups(
        tx,
        actors.system,
        waiting.map(({ id }) => ({ ...of, issue_id: id })),
      ),
    );
    const outcomes = await meetAt(
      database,
      sql`select from wakeup_requests where agent_id = ${agent.id} and issue_id = ${waiting[1]!.id} for update`,
      [async (tx) => changeIssues(tx, admin, company.id, changes), async (tx) => consumeInbox(tx, agent.id)],
    );
    expect(outcomes.map(({ status }) => status)).toEqual(both);
  },
);

it('an issue is purged while one is brought back that was deleted before it and is below it', async () => {
  const { company, low: above, high: below } = await threeIssues();
  await database.db
    .update(schema.issues)
    .set({ parent_issue_id: above.id })
    .where(inArray(schema.issues.id, [below.id]));
  for (const { id } of [below, above])
    await act(async (tx) => deleteIssue(tx, admin, (await findIssue(tx, id))!));
  const { items } = await listTrash(database.db, { company_id: company.id });
  const entryOf = ({ id }: { id: string }) => items.find(({ entity_id }) => entity_id === id)!;
  const outcomes = await meet(
    below.id,
    async (tx) => purgeFromTrash(tx, admin, entryOf(above)),
    async (tx) => restoreFromTrash(tx, admin, entryOf(below)),
  );
  expect(outcomes).toEqual(oneFinds);
});

it('an agent is purged while what it left behind is settled', async () => {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const own = { checked_out_by_agent_id: agent.id, self_checkout_agent_id: agent.id };
  const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id, ...own });
  await act(async (tx) => deleteAgent(tx, admin, (await findAgent(tx, agent.id))!));
  const entry = (await listTrash(database.db, { company_id: company.id })).items[0]!;
  const outcomes = await meet(
    issue.id,
    async (tx) => purgeFromTrash(tx, admin, entry),
    async (tx) => settleAgent(tx, agent.id),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(both);
});
