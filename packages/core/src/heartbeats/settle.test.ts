import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { actors, cloneDatabase, createAgent, createCompany, createIssue, waitFor } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { openQueue, type Queue } from '@acp/queue';
import { claimRun, deleteCompany, deleteIssue, dispatchAgent, findIssue, requestWakeups } from '../index.ts';
import { settleCompany, settleIssue } from './index.ts';

const { heartbeat_runs, wakeup_requests } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  // Claims look at all companies.
  ({ database } = await cloneDatabase('settle'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

async function waiting(): Promise<number> {
  const { rows } = await database.db.execute<{ count: number }>(
    sql`select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]!.count;
}

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
    await waitFor(async () => (await waiting()) === 1);
    const claiming = act(async (tx) => claimRun(tx, { claimed_by: 'here', lease_sec: 60 }));
    await waitFor(async () => (await waiting()) === 2);
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
