import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createRunningRun,
  databaseWithQueue,
  waitFor,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  actionableFor,
  checkoutForRuns,
  checkoutIssue,
  mostUrgentFirst,
  openIssuesOf,
  releaseAfterRun,
  releaseHeldBy,
  releaseIssue,
} from './index.ts';
import { startedRuns } from '../runs/index.ts';

const { agents, issues } = schema;
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const [ada, bob] = [await createAgent(database.db, company), await createAgent(database.db, company)];
  const make = async (values: Parameters<typeof createIssue>[2] = {}) =>
    createIssue(database.db, company, values);
  return { company, ada, bob, make };
}

const row = async (id: string) => {
  const [found] = await database.db.select().from(issues).where(eq(issues.id, id));
  return found!;
};
const within = async <T>(fn: Parameters<typeof transaction<T>>[1]) => transaction(database, fn);
const already = {
  kind: 'conflict',
  message: 'conflict',
  extra: { message: 'already checked out' },
};

const runOf = (agent: { id: string }, issue: { id: string }, started_at = new Date()) => ({
  id: newId(),
  agent_id: agent.id,
  issue_id: issue.id,
  started_at,
});

/** The actionable issues, read as a dispatch's plan reads them. */
async function actionable(agent_id: string) {
  const { rows } = await database.db.execute<{ issue_number: number }>(
    sql`select i.issue_number from issues i where ${actionableFor(agent_id)} order by ${mostUrgentFirst}`,
  );
  return rows;
}

describe('checkoutIssue', () => {
  it('by fifty agents at once is won by one; the others get the conflict of the specification', async () => {
    const s = await stage();
    const issue = await s.make();
    const rivals = await Promise.all(
      Array.from({ length: 50 }, async () => createAgent(database.db, s.company)),
    );
    const outcomes = await Promise.allSettled(
      rivals.map(async (agent) => within((tx) => checkoutIssue(tx, actors.agent(agent), issue))),
    );
    const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(won).toHaveLength(1);
    const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(lost).toMatchObject(Array.from({ length: 49 }, () => already));
    expect((await row(issue.id)).checked_out_by_agent_id).toBe(won[0]?.checked_out_by_agent_id);
  });

  it('by an agent that is being deleted waits for that, and claims nothing', async () => {
    const s = await stage();
    const issue = await s.make();
    let checkout: Promise<unknown> = Promise.resolve();
    await within(async (tx) => {
      await tx.update(agents).set({ deleted_at: new Date() }).where(eq(agents.id, s.ada.id));
      checkout = within((other) => checkoutIssue(other, actors.agent(s.ada), issue));
      checkout.catch(() => undefined);
      await waitFor(async () => {
        const { rows } = await database.db.execute(
          sql`select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())`,
        );
        return rows.length > 0;
      });
    });
    await expect(checkout).rejects.toMatchObject({ kind: 'conflict' });
    expect((await row(issue.id)).checked_out_by_agent_id).toBeNull();
  });

  it('of an issue that is held is a conflict for any caller, the holder too', async () => {
    const s = await stage();
    const issue = await s.make();
    await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    const held = await row(issue.id);
    for (const actor of [actors.agent(s.ada), actors.agent(s.bob), actors.board(s.company)])
      await expect(within((tx) => checkoutIssue(tx, actor, held))).rejects.toMatchObject(already);
  });

  it('by anyone but an agent is forbidden', async () => {
    const s = await stage();
    const issue = await s.make();
    await expect(
      within((tx) => checkoutIssue(tx, actors.board(s.company, 'admin'), issue)),
    ).rejects.toMatchObject({ kind: 'forbidden' });
  });
});

describe('releaseIssue', () => {
  it('by the holder frees it; by anyone else it is forbidden', async () => {
    const s = await stage();
    const issue = await s.make();
    for (const actor of [actors.agent(s.ada), actors.board(s.company, 'admin')])
      await expect(within((tx) => releaseIssue(tx, actor, issue))).rejects.toMatchObject({
        kind: 'forbidden',
      });
    await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    await expect(within((tx) => releaseIssue(tx, actors.agent(s.bob), issue))).rejects.toMatchObject({
      kind: 'forbidden',
    });
    const after = await within((tx) => releaseIssue(tx, actors.agent(s.ada), issue));
    expect(after).toMatchObject({ checked_out_by_agent_id: null, checked_out_at: null });
  });

  it('of all that an agent holds happens when the agent is gone', async () => {
    const s = await stage();
    const [one, two] = [await s.make(), await s.make()];
    for (const issue of [one, two]) await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    expect(await within((tx) => releaseHeldBy(tx, actors.system, s.ada.id))).toBe(2);
    expect(await within((tx) => releaseHeldBy(tx, actors.system, s.ada.id))).toBe(0);
    expect(await row(one.id)).toMatchObject({ checked_out_by_agent_id: null });
  });

  it('of all that its live runs hold, too', async () => {
    const { ada, own } = await createRunningRun(database.db);
    expect(await within((tx) => releaseHeldBy(tx, actors.system, ada.id))).toBe(1);
    expect(await row(own.id)).toMatchObject({ checked_out_by_agent_id: null, checkout_run_id: null });
  });
});

/** As the claim of these runs leaves them to its kinds. */
const takenForAll = async (runs: readonly { run_id: string; agent_id: string; issue_id: string }[]) =>
  within(async (tx) => {
    const started = JSON.stringify(runs.map((run) => ({ ...run, kind: 'heartbeat' })));
    await tx.execute(sql`select set_config('acp.started_runs', ${started}, true)`);
    return checkoutForRuns(tx, startedRuns('heartbeat'));
  });

const takenFor = async (agent: { id: string }, issue: { id: string }, run_id: string) => {
  const runs = [{ run_id, agent_id: agent.id, issue_id: issue.id }];
  return (await takenForAll(runs)).get(run_id);
};

describe('the checkout of a run', () => {
  it('comes together with those of others: each has its own issue, and who may not have it has none', async () => {
    const s = await stage();
    const [mine, theirs, held] = [await s.make(), await s.make(), await s.make()];
    await within((tx) => checkoutIssue(tx, actors.agent(s.bob), held));
    const wanted = (
      [
        [s.ada, mine],
        [s.bob, theirs],
        [s.ada, held],
      ] as const
    ).map(([agent, issue]) => ({ run_id: newId(), agent_id: agent.id, issue_id: issue.id }));
    const taken = await takenForAll(wanted);
    expect(wanted.map(({ run_id }) => taken.get(run_id)?.issue.id)).toEqual([mine.id, theirs.id, undefined]);
    expect(await row(theirs.id)).toMatchObject({ checked_out_by_agent_id: s.bob.id });
    expect(await row(held.id)).toMatchObject({ checked_out_by_agent_id: s.bob.id, checkout_run_id: null });
  });

  it('is given back at its end, after a checkout made during the run too', async () => {
    const s = await stage();
    const issue = await s.make();
    const run = runOf(s.ada, issue);
    const taken = await takenFor(s.ada, issue, run.id);
    expect(taken).toMatchObject({ issue: { checkout_run_id: run.id } });
    expect(taken?.changes).toMatchObject([{ event: { type: 'issue_updated' } }]);
    await within((tx) => releaseIssue(tx, actors.agent(s.ada), issue));
    await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    await within((tx) => releaseAfterRun(tx, run, { changed: true }));
    expect(await row(issue.id)).toMatchObject({ checked_out_by_agent_id: null, checkout_run_id: null });
  });

  it('stays with the agent that held the issue before the run', async () => {
    const s = await stage();
    const issue = await s.make();
    await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    const before = await row(issue.id);
    const taken = await takenFor(s.ada, issue, newId());
    expect(taken).toMatchObject({ changes: [], issue: { checkout_run_id: null } });
    expect(taken?.issue.checked_out_at).toEqual(before.checked_out_at);
    await within((tx) => releaseAfterRun(tx, runOf(s.ada, issue, new Date(Date.now() + 1000))));
    expect(await row(issue.id)).toMatchObject({ checked_out_by_agent_id: s.ada.id });
  });

  it('of an agent that held the issue, released it in the run and took it again, is given back', async () => {
    const s = await stage();
    const issue = await s.make();
    await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    const run = runOf(s.ada, issue);
    await takenFor(s.ada, issue, run.id);
    await within((tx) => releaseIssue(tx, actors.agent(s.ada), issue));
    await within((tx) => checkoutIssue(tx, actors.agent(s.ada), issue));
    await within((tx) => releaseAfterRun(tx, run, { changed: true }));
    expect(await row(issue.id)).toMatchObject({ checked_out_by_agent_id: null, checkout_run_id: null });
  });

  it('is refused where another agent holds the issue, and where the issue is in the trash', async () => {
    const s = await stage();
    const [taken, parent] = [await s.make(), await s.make({ deleted_at: new Date() })];
    const child = await s.make({ parent_issue_id: parent.id });
    await within((tx) => checkoutIssue(tx, actors.agent(s.bob), taken));
    for (const issue of [taken, parent, child]) expect(await takenFor(s.ada, issue, newId())).toBeUndefined();
  });

  it('that an earlier run left behind is taken over as the run’s own', async () => {
    const s = await stage();
    const issue = await s.make({ checked_out_by_agent_id: s.ada.id, checkout_run_id: newId() });
    const run_id = newId();
    const taken = await takenFor(s.ada, issue, run_id);
    expect(taken?.issue.checkout_run_id).toBe(run_id);
  });

  it('leaves another agent’s checkout alone at the end of the run', async () => {
    const s = await stage();
    const issue = await s.make({ checked_out_by_agent_id: s.bob.id });
    await within((tx) => releaseAfterRun(tx, runOf(s.ada, issue)));
    expect(await row(issue.id)).toMatchObject({ checked_out_by_agent_id: s.bob.id });
  });
});

describe('the loop breaker', () => {
  it('asks for a human after five runs in a row without a change; a change starts it anew', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.ada.id });
    const note = async (changed: boolean) =>
      within((tx) => releaseAfterRun(tx, runOf(s.ada, issue), { changed }));
    for (const changed of [false, false, false, false, true, false, false, false, false]) await note(changed);
    expect(await row(issue.id)).toMatchObject({ stalled_runs: 4, needs_human_attention: false });
    expect(await actionable(s.ada.id)).toHaveLength(1);
    expect(await note(false)).toMatchObject([
      { event: { data: { needs_human_attention: true } } },
      { event: { type: 'notification', data: { topic: 'issue_stalled', entity_id: issue.id } } },
    ]);
    // A run that had begun earlier repeats it in the issue, but not in a second notice.
    expect(await note(false)).toHaveLength(1);
    expect(await actionable(s.ada.id)).toEqual([]);
  });
});

describe('the work of an agent', () => {
  it('gives urgent before less urgent, begun before new, old before young, and only what may be worked on', async () => {
    const s = await stage();
    const mine = { assignee_agent_id: s.ada.id };
    const old = new Date(Date.now() - 60_000);
    const expected = [
      await s.make({ ...mine, priority: 'critical' }),
      await s.make({ ...mine, status: 'in_progress' }),
      await s.make({ ...mine, created_at: old }),
      await s.make({ ...mine, checked_out_by_agent_id: s.ada.id }),
    ];
    const trashed = await s.make({ ...mine, deleted_at: old });
    for (const values of [
      { status: 'blocked' },
      { status: 'done' },
      { needs_routing: true },
      { checked_out_by_agent_id: s.bob.id },
      { parent_issue_id: trashed.id },
    ])
      await s.make({ ...mine, ...values });
    await s.make({ assignee_agent_id: s.bob.id });
    const found = await actionable(s.ada.id);
    expect(found.map((issue) => issue.issue_number)).toEqual(expected.map((issue) => issue.issue_number));
    expect(await openIssuesOf(database.db, s.ada, 50)).toHaveLength(7);
  });
});
