import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { openQueue, type Queue } from '@acp/queue';
import { claimRun, deleteCompany, deleteIssue, dispatchAgent, findIssue, requestWakeups } from '../index.ts';
import { settleCompany, settleIssue } from './index.ts';

const { heartbeat_runs, issue_relations, issues, wakeup_requests } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  // Claims look at all companies.
  ({ database } = await cloneDatabase('settle'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

it.each(['issue', 'company'])(
  'an %s is settled while a run that was queued for it is claimed',
  async (of) => {
    await database.db.delete(heartbeat_runs);
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    const act = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);
    const wakeup = {
      company_id: company.id,
      agent_id: agent.id,
      issue_id: issue.id,
      reason: 'manual',
    } as const;
    await act(async (tx) => requestWakeups(tx, actors.system, [wakeup]));
    await act(async (tx) => dispatchAgent(tx, agent.id));
    await act(async (tx) =>
      of === 'issue'
        ? deleteIssue(tx, actors.system, (await findIssue(tx, issue.id))!)
        : deleteCompany(tx, actors.system, company.id),
    );
    // Claims leave companies in the trash alone: this one was picked before.
    if (of === 'company')
      await database.db.execute(sql`update companies set deleted_at = null where id = ${company.id}`);

    const [first, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = act(async (tx) => {
      await tx.select().from(wakeup_requests).where(eq(wakeup_requests.issue_id, issue.id)).for('update');
      held.resolve();
      await first.promise;
    });
    await held.promise;
    const settling = act(async (tx) => {
      if (of === 'company')
        await tx.execute(sql`update companies set deleted_at = now() where id = ${company.id}`);
      return of === 'issue' ? settleIssue(tx, issue.id) : settleCompany(tx, company.id);
    });
    await waitFor(async () => (await waitingForLocks(database)) === 1);
    const claiming = act(async (tx) => claimRun(tx, { claimed_by: 'here', lease_sec: 60 }));
    await waitFor(async () => (await waitingForLocks(database)) === 2);
    first.resolve();
    await expect(Promise.all([holding, settling, claiming])).resolves.toBeDefined();
    const [run] = await database.db.select().from(heartbeat_runs);
    const [request] = await database.db
      .select()
      .from(wakeup_requests)
      .where(eq(wakeup_requests.issue_id, issue.id));
    expect([run!.status, request!.status]).toEqual([
      'cancelled',
      expect.stringMatching(/consumed|cancelled/),
    ]);
  },
);

it('what waited only for an issue below a deleted one goes on, and nothing below that one itself', async () => {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const top = await createIssue(database.db, company);
  const middle = await createIssue(database.db, company, { parent_issue_id: top.id });
  const low = await createIssue(database.db, company, { parent_issue_id: middle.id });
  const stuck = async (values: object = {}) =>
    createIssue(database.db, company, { status: 'blocked', assignee_agent_id: agent.id, ...values });
  const [free, dependent, both, inside] = [
    await stuck(),
    await stuck(),
    await stuck(),
    await stuck({ parent_issue_id: top.id }),
  ];
  const open = await createIssue(database.db, company);
  const relate = async (source: { id: string }, target: { id: string }, relation_type = 'blocks') =>
    database.db.insert(issue_relations).values({
      company_id: company.id,
      source_issue_id: source.id,
      target_issue_id: target.id,
      relation_type,
    });
  for (const waits of [free, both, inside]) await relate(low, waits);
  await relate(dependent, middle, 'depends_on');
  await relate(open, both);
  await transaction(database, async (tx) => {
    await deleteIssue(tx, actors.system, (await findIssue(tx, top.id))!);
  });
  await transaction(database, async (tx) => settleIssue(tx, top.id));
  const rows = await database.db.select().from(issues).where(eq(issues.company_id, company.id));
  const statusOf = ({ id }: { id: string }) => rows.find((row) => row.id === id)!.status;
  expect([free, dependent, both, inside].map(statusOf)).toEqual(['todo', 'todo', 'blocked', 'blocked']);
  const woken = await database.db
    .select()
    .from(wakeup_requests)
    .where(eq(wakeup_requests.agent_id, agent.id));
  const due = woken.map(({ issue_id, reason, status }) => [issue_id, reason, status]);
  expect(new Set(due)).toEqual(new Set([free.id, dependent.id].map((id) => [id, 'unblocked', 'pending'])));
});
