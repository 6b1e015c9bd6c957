import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  pagesRead,
  pendingWakeups,
  queuedJobs,
} from '@acp/testkit';
import { bindWakeups, requestWakeups, type WakeupRequest } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const other = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company);
  const to = (agent_id: string, changes: Partial<WakeupRequest> = {}): WakeupRequest => ({
    company_id: company.id,
    agent_id,
    issue_id: issue.id,
    reason: 'comment',
    ...changes,
  });
  const ask = async (actor: Actor, ...requests: WakeupRequest[]) =>
    transaction(database, async (tx) => requestWakeups(tx, actor, requests));
  const jobs = async () => queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id });
  return { company, agent, other, issue, to, ask, jobs };
}

describe('requestWakeups', () => {
  it('inserts the requests of an act and one job per agent by two statements, however many they are', async () => {
    const { company, agent, other, to, jobs } = await setUp();
    const issues = await Promise.all([1, 2, 3].map(async () => createIssue(database.db, company)));
    const requests = issues.flatMap(({ id }) => [
      to(agent.id, { issue_id: id }),
      to(other.id, { issue_id: id }),
    ]);
    await transaction(database, async (tx) => {
      const before = database.statements();
      expect(await requestWakeups(tx, actors.system, requests)).toHaveLength(6);
      expect(database.statements() - before).toBe(2);
    });
    expect(await pendingWakeups(database.db, agent.id)).toHaveLength(3);
    expect(await jobs()).toHaveLength(1);
  });

  it('coalesces what is asked while a request is pending, and enqueues once more for it', async () => {
    const { agent, to, ask, jobs } = await setUp();
    const [first] = await ask(actors.system, to(agent.id, { payload: { a: 1, b: 1 } }));
    const [second] = await ask(actors.system, to(agent.id, { reason: 'mention', payload: { b: 2 } }));
    expect(second?.id).toBe(first?.id);
    const [pending, ...rest] = await pendingWakeups(database.db, agent.id);
    expect(rest).toEqual([]);
    expect(pending).toMatchObject({ reason: 'mention', payload: { a: 1, b: 2 } });
    expect(await jobs()).toHaveLength(2);
  });

  it('keeps the reason that somebody gave when the timer ticks', async () => {
    const { agent, to, ask } = await setUp();
    await ask(actors.system, to(agent.id, { issue_id: null, reason: 'manual' }));
    await ask(actors.system, to(agent.id, { issue_id: null, reason: 'schedule' }));
    expect((await pendingWakeups(database.db, agent.id)).map((row) => row.reason)).toEqual(['manual']);
  });

  it('enqueues once for however many ticks of the timer an agent has not been dispatched for', async () => {
    const { agent, to, ask, jobs } = await setUp();
    const tick = to(agent.id, { issue_id: null, reason: 'schedule' });
    expect([await ask(actors.system, tick), await ask(actors.system, tick)]).toEqual([
      [expect.objectContaining({ agent_id: agent.id })],
      [],
    ]);
    expect(await jobs()).toHaveLength(1);
    await ask(actors.system, to(agent.id, { issue_id: null, reason: 'manual' }));
    // Jobs caused by people and agents are fetched before timer ticks.
    const { rows } = await database.db.execute(
      sql`select priority from pgboss.job where data ->> 'agent_id' = ${agent.id} order by created_on, priority`,
    );
    expect(rows).toEqual([{ priority: -1 }, { priority: 0 }]);
  });

  it('takes the first of several requests in one act for the same agent and issue', async () => {
    const { agent, to, ask } = await setUp();
    await ask(actors.system, to(agent.id, { reason: 'mention' }), to(agent.id, { reason: 'comment' }));
    expect((await pendingWakeups(database.db, agent.id)).map((row) => row.reason)).toEqual(['mention']);
  });

  it('enqueues nothing for what coalesces into a request that a queued run will answer', async () => {
    const { agent, to, ask, jobs } = await setUp();
    const [first] = await ask(actors.system, to(agent.id));
    const run_id = newId();
    await bindWakeups(database.db, [{ wakeup_id: first!.id, run_id: run_id }]);
    const [again] = await ask(actors.system, to(agent.id));
    expect(again).toMatchObject({ id: first!.id, run_id });
    expect(await jobs()).toHaveLength(1);
  });

  it('never wakes the author, but others', async () => {
    const { agent, other, to, ask } = await setUp();
    const woken = await ask(actors.agent(agent), to(agent.id), to(other.id));
    expect(woken.map((each) => each.agent_id)).toEqual([other.id]);
  });

  it('wakes neither trashed nor terminated agents, nor for trashed issues, nor another company’s', async () => {
    const { company, agent, issue, to, ask } = await setUp();
    const gone = await createAgent(database.db, company, { deleted_at: new Date() });
    const ended = await createAgent(database.db, company, { status: 'terminated' });
    const paused = await createAgent(database.db, company, { status: 'paused' });
    const trashed = await createIssue(database.db, company, { deleted_at: new Date() });
    const elsewhere = await createAgent(database.db, await createCompany(database.db));
    const woken = await ask(
      actors.system,
      to(gone.id),
      to(ended.id),
      to(paused.id),
      to(elsewhere.id),
      to(elsewhere.id, { company_id: elsewhere.company_id, issue_id: issue.id }),
      to(agent.id, { issue_id: trashed.id }),
    );
    // A paused agent's wakeups wait until it is resumed.
    expect(woken.map((each) => each.agent_id)).toEqual([paused.id]);
  });

  it('counts the chain of causes, and ends one that is longer than 12', async () => {
    const { agent, other, to, ask } = await setUp();
    const run_id = newId();
    await ask(actors.agent(other, { depth: 11, run_id }), to(agent.id));
    expect(await pendingWakeups(database.db, agent.id)).toMatchObject([{ depth: 12, cause_run_id: run_id }]);
    expect(await ask(actors.agent(other, { depth: 12 }), to(agent.id))).toEqual([]);
  });

  it('keeps the longest chain on coalescing, unless a human begins anew', async () => {
    const { company, agent, other, to, ask } = await setUp();
    const depth = async () => (await pendingWakeups(database.db, agent.id))[0]?.depth;
    await ask(actors.agent(other, { depth: 7 }), to(agent.id));
    await ask(actors.system, to(agent.id));
    expect(await depth()).toBe(8);
    await ask(actors.board(company), to(agent.id));
    expect(await depth()).toBe(0);
  });

  it('leaves alone an issue on which agents run in circles, until a human asks', async () => {
    const { company, agent, other, to, ask } = await setUp();
    const { id: issue_id } = await createIssue(database.db, company, { stalled_runs: 5 });
    expect(await ask(actors.agent(other), to(agent.id, { issue_id }))).toEqual([]);
    expect(await ask(actors.system, to(agent.id, { issue_id }))).toEqual([]);
    expect(await ask(actors.board(company), to(agent.id, { issue_id }))).toHaveLength(1);
  });

  it('neither loses nor doubles a request when many ask at once', async () => {
    const { agent, other, to, ask, jobs } = await setUp();
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) =>
        i % 2 === 0
          ? ask(actors.system, to(agent.id), to(other.id))
          : ask(actors.system, to(other.id), to(agent.id)),
      ),
    );
    expect(await pendingWakeups(database.db, agent.id)).toHaveLength(1);
    expect(await pendingWakeups(database.db, other.id)).toHaveLength(1);
    expect(await jobs()).toHaveLength(12);
  });

  it('leaves neither request nor job when the transaction fails', async () => {
    const { agent, to, jobs } = await setUp();
    const failing = transaction(database, async (tx) => {
      await requestWakeups(tx, actors.system, [to(agent.id)]);
      throw new Error('later');
    });
    await expect(failing).rejects.toThrow('later');
    expect(await pendingWakeups(database.db, agent.id)).toEqual([]);
    expect(await jobs()).toEqual([]);
  });
});

describe('a request in a large company of a large instance', () => {
  it('looks up its own agent, issue and company alone', async () => {
    const { company, agent, to, ask } = await setUp();
    await database.db.execute(sql`
      with others as (insert into companies (name, slug, identifier_prefix)
        select 'Other', 'many-' || n, 'M' || n from generate_series(1, 3000) n returning id)
      insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec)
      select id, 'Agent', 'engineer', 'llm', false, 300 from others
      union all select ${company.id}, 'Agent ' || n, 'engineer', 'llm', false, 300 from generate_series(1, 1000) n`);
    await database.db.execute(sql`
      insert into issues (company_id, title, identifier, issue_number)
      select id, 'Only', 'O-1', 1 from companies where slug like 'many-%'
      union all select ${company.id}, 'Many', 'M-' || n, 1000 + n from generate_series(1, 20000) n`);
    await database.db.execute(sql`vacuum analyze companies, agents, issues`);
    const human = actors.board(company);
    const [pending] = await ask(human, to(agent.id));
    // Nothing is enqueued for what a queued run will answer.
    await database.db.execute(sql`update wakeup_requests set run_id = ${newId()} where id = ${pending!.id}`);
    const pages = await pagesRead(database, async (db) => requestWakeups(db, human, [to(agent.id)]));
    expect(pages).toBeLessThan(20);
  });
});
