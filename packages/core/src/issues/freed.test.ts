import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import { requestWakeups } from '../wakeups/index.ts';
import { forceReleaseIssue, releaseHeldBy, releaseIssue } from './index.ts';

const { activity, issues } = schema;
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

/** An issue checked out by Ada, for which Bob was woken; his first job has run and found it checked out. */
async function held() {
  const company = await createCompany(database.db);
  const [ada, bob] = [await createAgent(database.db, company), await createAgent(database.db, company)];
  const issue = await createIssue(database.db, company, {
    checked_out_by_agent_id: ada.id,
    self_checkout_agent_id: ada.id,
  });
  const wakeup = { company_id: company.id, agent_id: bob.id, issue_id: issue.id, reason: 'mention' } as const;
  await transaction(database, async (tx) => requestWakeups(tx, actors.system, [wakeup]));
  const jobs = async () => (await queuedJobs(database.db, 'dispatch-agent', { agent_id: bob.id })).length;
  const before = await jobs();
  const holder = async () => {
    const [row] = await database.db.select().from(issues).where(eq(issues.id, issue.id));
    return row!.checked_out_by_agent_id;
  };
  return { company, ada, bob, issue, holder, dispatched: async () => (await jobs()) - before };
}

describe('who waited for a checkout is dispatched', () => {
  it('when its holder releases it', async () => {
    const { ada, issue, dispatched } = await held();
    await transaction(database, async (tx) => releaseIssue(tx, actors.agent(ada), issue));
    expect(await dispatched()).toBe(1);
  });

  it('when its holder is gone', async () => {
    const { ada, dispatched } = await held();
    expect(await transaction(database, async (tx) => releaseHeldBy(tx, actors.system, ada.id))).toBe(1);
    expect(await dispatched()).toBe(1);
  });

  it('when an admin frees it, which the activity tells with the former holder', async () => {
    const { company, ada, issue, holder, dispatched } = await held();
    const admin = actors.board(company, 'admin');
    const force = async () => transaction(database, async (tx) => forceReleaseIssue(tx, admin, { ...issue }));
    expect(await force()).toMatchObject({ id: issue.id, checked_out_by_agent_id: null });
    expect([await holder(), await dispatched()]).toEqual([null, 1]);
    // Already released: nothing happens, and no one is notified.
    expect(await force()).toMatchObject({ checked_out_by_agent_id: null });
    const entries = await database.db
      .select()
      .from(activity)
      .where(and(eq(activity.entity_id, issue.id), eq(activity.action, 'issue.force_released')));
    expect(entries.map(({ details }) => details)).toEqual([
      { identifier: issue.identifier, held_by_agent_id: ada.id },
    ]);
    expect(await dispatched()).toBe(1);
  });
});
