import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction, type Tx } from '@acp/db';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue, meetAt } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import {
  changeIssues,
  deleteIssue,
  findIssue,
  listTrash,
  releaseHeldBy,
  restoreFromTrash,
} from '../index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const act = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);
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
  expect(outcomes).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    expect.objectContaining({ reason: expect.objectContaining({ kind: 'not_found' }) }),
  ]);
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
