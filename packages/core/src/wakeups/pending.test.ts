import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  nextInstant,
  pagesRead,
  pendingWakeups,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  bindWakeups,
  cancelWakeups,
  consumeInbox,
  consumeWakeups,
  requestWakeups,
  returnWakeups,
  waitingAfter,
} from './index.ts';

const { wakeup_requests } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company);
  const ask = async (issue_id: string | null, agent_id = agent.id) => {
    const request = { company_id: company.id, agent_id, issue_id, reason: 'comment' } as const;
    const [row] = await transaction(database, async (tx) => requestWakeups(tx, actors.system, [request]));
    return row!.id;
  };
  const statusOf = async (id: string) =>
    (await database.db.select().from(wakeup_requests).where(eq(wakeup_requests.id, id)))[0]?.status;
  return { company, agent, issue, ask, statusOf };
}

describe('the life of a wakeup', () => {
  it('binds to one run only', async () => {
    const { agent, issue, ask } = await setUp();
    const [wakeup_id, first, second] = [await ask(issue.id), newId(), newId()];
    await bindWakeups(database.db, [{ wakeup_id, run_id: first }]);
    await bindWakeups(database.db, [{ wakeup_id, run_id: second }]);
    expect(await pendingWakeups(database.db, agent.id)).toEqual([]);
    expect(await consumeWakeups(database.db, [second])).toEqual([]);
    expect(await consumeWakeups(database.db, [first])).toMatchObject([{ id: wakeup_id }]);
  });

  it('is bound without a look at all that is pending', async () => {
    const { company, agent, ask } = await setUp();
    await database.db.execute(sql`
      insert into wakeup_requests (company_id, agent_id, issue_id, reason)
      select ${company.id}, ${agent.id}, gen_random_uuid(), 'comment' from generate_series(1, 5000)`);
    const bindings = [{ wakeup_id: await ask(null), run_id: newId() }];
    expect(await pagesRead(database, async (db) => bindWakeups(db, bindings))).toBeLessThan(50);
    expect(await consumeWakeups(database.db, [bindings[0]!.run_id])).toHaveLength(1);
  });

  it('is consumed by the claim; a later request is a new one', async () => {
    const { agent, issue, ask, statusOf } = await setUp();
    const id = await ask(issue.id);
    const run_id = newId();
    await bindWakeups(database.db, [{ wakeup_id: id, run_id: run_id }]);
    const [consumed] = await consumeWakeups(database.db, [run_id]);
    expect(consumed).toMatchObject({ id, status: 'consumed', consumed_at: expect.any(Date) });
    expect(await consumeWakeups(database.db, [run_id])).toEqual([]);
    const next = await ask(issue.id);
    expect(next).not.toBe(id);
    expect(await statusOf(id)).toBe('consumed');
    expect((await pendingWakeups(database.db, agent.id)).map((row) => row.id)).toEqual([next]);
  });

  it('comes back from a run that was never claimed', async () => {
    const { agent, issue, ask } = await setUp();
    const id = await ask(issue.id);
    const run_id = newId();
    await bindWakeups(database.db, [{ wakeup_id: id, run_id: run_id }]);
    expect(await returnWakeups(database.db, run_id)).toEqual([id]);
    expect((await pendingWakeups(database.db, agent.id)).map((row) => row.id)).toEqual([id]);
  });

  it('comes back from a lost run as a new request, or joins the one made since', async () => {
    const { agent, issue, ask, statusOf } = await setUp();
    const run_id = newId();
    const id = await ask(issue.id);
    const general = await ask(null);
    await bindWakeups(database.db, [
      { wakeup_id: id, run_id: run_id },
      { wakeup_id: general, run_id: run_id },
    ]);
    await consumeWakeups(database.db, [run_id]);
    const since = await ask(issue.id);
    const returned = await returnWakeups(database.db, run_id);
    expect(returned).toHaveLength(2);
    expect(returned).toContain(since);
    const pending = await pendingWakeups(database.db, agent.id);
    expect(pending.map((row) => row.id).toSorted()).toEqual(returned.toSorted());
    expect(await statusOf(id)).toBe('consumed');
  });

  it('comes back from a lost run with every decision, those that were made since and those that were not', async () => {
    const { company, agent, issue } = await setUp();
    const run_id = newId();
    const decided = async (approval: string, status: string) => {
      const payload = { approval_id: approval, status, decisions: { [approval]: { status } } };
      const request = { company_id: company.id, agent_id: agent.id, issue_id: issue.id, payload };
      const [row] = await transaction(database, async (tx) =>
        requestWakeups(tx, actors.system, [{ ...request, reason: 'approval' }]),
      );
      return row!.id;
    };
    await bindWakeups(database.db, [{ wakeup_id: await decided('one', 'rejected'), run_id }]);
    await consumeWakeups(database.db, [run_id]);
    await decided('two', 'approved');
    await returnWakeups(database.db, run_id);
    const [pending] = await pendingWakeups(database.db, agent.id);
    expect(pending!.payload).toEqual({
      approval_id: 'two',
      status: 'approved',
      decisions: { one: { status: 'rejected' }, two: { status: 'approved' } },
    });
  });

  it('is consumed by the agent that reads its inbox, bound or not, oldest first', async () => {
    const { agent, issue, ask } = await setUp();
    const first = await ask(issue.id);
    await nextInstant();
    const second = await ask(null);
    await bindWakeups(database.db, [{ wakeup_id: first, run_id: newId() }]);
    expect((await consumeInbox(database.db, agent.id)).map((row) => row.id)).toEqual([first, second]);
    expect(await consumeInbox(database.db, agent.id)).toEqual([]);
  });

  it('is cancelled with its agent, issue or run, and with nothing else', async () => {
    const { company, agent, issue, ask, statusOf } = await setUp();
    const other = await createAgent(database.db, company);
    const mine = await ask(issue.id);
    const general = await ask(null);
    const others = await ask(issue.id, other.id);
    expect(await cancelWakeups(database.db, { agent_id: agent.id, issue_id: issue.id })).toBe(1);
    expect([await statusOf(mine), await statusOf(general)]).toEqual(['cancelled', 'pending']);
    expect(await cancelWakeups(database.db, { company_id: company.id })).toBe(2);
    expect(await statusOf(others)).toBe('cancelled');
    await expect(cancelWakeups(database.db, {})).rejects.toThrow('everything');
  });

  it('names who waits after a run: its agent, and agents that wait for its issue', async () => {
    const { company, agent, issue, ask } = await setUp();
    const [second, third] = [
      await createAgent(database.db, company),
      await createAgent(database.db, company),
    ];
    await ask(null);
    await ask(issue.id, second.id);
    const bound = await ask(issue.id, third.id);
    await bindWakeups(database.db, [{ wakeup_id: bound, run_id: newId() }]);
    const waiting = async (agent_id: string, issue_id: string | null) =>
      (await database.db.execute(waitingAfter({ agent_id, issue_id }))).rows
        .map((row) => String(row.agent_id))
        .toSorted();
    expect(await waiting(agent.id, issue.id)).toEqual([agent.id, second.id].toSorted());
    expect(await waiting(third.id, null)).toEqual([]);
  });
});
