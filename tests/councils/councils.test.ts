/** Councils, turn by turn: runs are claimed and finished by the tests, their jobs done immediately. */
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConveneCouncil, CouncilSession } from '@acp/contract';
import {
  advanceCouncil,
  cancelCouncil,
  cancelRun,
  type ClaimedRun,
  claimRun,
  conveneCouncil,
  councilFacts,
  createBudgetPolicy,
  findCouncil,
  findIssue,
  finishRun,
  letter,
  listExecutionDecisions,
  presentCouncil,
  reportCost,
  shuffledFor,
  sweepCouncils,
  updateIssue,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  pendingWakeups,
  queuedJobs,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { councilPrompt } from '../../apps/scheduler/src/execution/kinds/council/prompt.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});
afterEach(async () => {
  // Claims are fair across all companies, so no test may leave runs behind for another.
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const write = async <T>(work: Parameters<typeof transaction<T>>[1]): Promise<T> =>
  transaction(database, work);

async function scene() {
  const tx = database.db;
  const company = await createCompany(tx);
  const human = actors.user({ id: newId(), display_name: 'Olga' }, { [company.id]: 'admin' });
  const ada = await createAgent(tx, company, { name: 'Ada', role: 'ceo' });
  const grace = await createAgent(tx, company, { name: 'Grace', role: 'engineer', reports_to: ada.id });
  const linus = await createAgent(tx, company, { name: 'Linus', role: 'researcher', reports_to: ada.id });
  const issue = await createIssue(tx, company, {
    title: 'The checkout is slow',
    body_markdown: 'Fix the code, or measure first?',
    assignee_agent_id: grace.id,
  });
  return { company, human, ada, grace, linus, issue };
}
type Scene = Awaited<ReturnType<typeof scene>>;

const convene = async ({ human, issue }: Scene, input: ConveneCouncil = {}): Promise<CouncilSession> =>
  write(async (tx) => conveneCouncil(tx, human, (await findIssue(tx, issue.id))!, input));
const now = async ({ id }: { id: string }): Promise<CouncilSession> =>
  presentCouncil(database.db, (await findCouncil(database.db, id))!);
const budget = async (set: Scene, limit_usd: number, scope?: { id: string }) =>
  write(async (tx) =>
    createBudgetPolicy(tx, set.human, set.company.id, {
      ...(scope ? { scope_type: 'agent', scope_id: scope.id } : { scope_type: 'company' }),
      window: 'lifetime',
      limit_usd,
      action: 'pause',
    }),
  );
const reserved = async ({ company }: Scene) => {
  const { rows } = await database.db.execute<{ usd: number }>(sql`
    select coalesce(sum(w.reserved_usd), 0)::float8 as usd from budget_windows w
    join budget_policies p on p.id = w.policy_id where p.company_id = ${company.id} and p.scope_type = 'company'`);
  return rows[0]!.usd;
};

type Script = (name: string, prompt: string, run: ClaimedRun) => string | null;

/** Takes one turn: claims it, answers by the script (null: fails), finishes it, and runs the follow-up jobs. */
async function turn(session: { id: string }, script: Script): Promise<boolean> {
  const run = await write(async (tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 }));
  if (run === undefined) return false;
  const facts = (await councilFacts(database.db, run))!;
  const text = script(facts.agent.name, councilPrompt(facts, 'model').user_message, run);
  const failure = text === null ? { category: 'permanent', message: 'the model is gone' } : null;
  const usage = {
    provider: 'x',
    model: 'x',
    input_tokens: 1,
    output_tokens: 1,
    cached_tokens: 0,
    usage_missing: false,
    price_estimated: false,
    cost_usd: '0.01000000',
  };
  await write(async (tx) => finishRun(tx, run, { failure, text, usage, changed: false }));
  await write(async (tx) => advanceCouncil(tx, session.id));
  return true;
}

async function play(session: { id: string }, script: Script): Promise<CouncilSession> {
  while ((await now(session)).status === 'running') if (!(await turn(session, script))) break;
  return now(session);
}

/** A member that always says the same, and ranks whatever names `favourite` highest. */
const steady: Script = (name, prompt) => {
  if (prompt.includes('You have the chair')) return `Decided.\n\n## Dissent\nNobody.`;
  if (prompt.includes('Rank the answers')) return 'RANKING: A > B\nAs it is clearer.';
  return prompt.includes('KEEP') ? 'KEEP' : `${name} holds: measure.`;
};

describe('a council', () => {
  it('of those whom the issue is for answers apart, ranks, and concludes; the assignee is woken by it', async () => {
    const set = await scene();
    await budget(set, 10);
    const begun = await convene(set);
    expect(begun.participants).toMatchObject([
      { name: 'Ada', is_chair: true, left_out_reason: null },
      { name: 'Grace', is_chair: false },
      { name: 'Linus', is_chair: false },
    ]);
    // Two rounds, a ranking and a conclusion: ten turns at 0.16.
    expect(await reserved(set)).toBeCloseTo(1.6);
    const seen = new Map<string, string>();
    const over = await play(begun, (name, prompt, run) => {
      seen.set(
        `${name} ${prompt.includes('KEEP') ? 2 : prompt.includes('Rank') ? 3 : prompt.includes('chair') ? 4 : 1}`,
        prompt,
      );
      return steady(name, prompt, run);
    });
    expect(over).toMatchObject({
      status: 'completed',
      conclusion: 'Decided.\n\n## Dissent\nNobody.',
      phase: 'conclusion',
    });
    expect(over.turns.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: 6 }, () => 'answer'),
      ...Array.from({ length: 3 }, () => 'ranking'),
      'conclusion',
    ]);
    expect(over.ranking).toHaveLength(3);
    for (const { agent_id, ranking } of over.turns.filter(({ kind }) => kind === 'ranking'))
      expect(ranking).not.toContain(agent_id);
    // The first round knows nothing of the others, the second no names, the chair both.
    expect(seen.get('Ada 1')).not.toContain('# The answers');
    expect(seen.get('Ada 2')).toMatch(/<answer label="A">[\s\S]*<answer label="B">/);
    expect(seen.get('Ada 2')).not.toMatch(/by="|label="C"/);
    expect(seen.get('Ada 4')).toMatch(/<answer by="Grace" role="engineer">/);
    expect(await reserved(set)).toBe(0);
    const [comment] = await database.db
      .select()
      .from(schema.comments)
      .where(eq(schema.comments.issue_id, set.issue.id));
    expect(comment).toMatchObject({ author_agent_id: set.ada.id });
    expect(comment!.body_markdown).toMatch(/^Decided\.[\s\S]*_Council of Ada, Grace, Linus\._$/);
    const issue = (await findIssue(database.db, set.issue.id))!;
    expect((await listExecutionDecisions(database.db, issue, {})).items).toMatchObject([
      { decision_type: 'auto_approve', metadata: { council_session_id: over.id } },
    ]);
    expect(await pendingWakeups(database.db, set.grace.id)).toMatchObject([{ reason: 'comment', depth: 1 }]);
  });

  it('wakes nobody but the assignee, and does nothing that its conclusion says', async () => {
    const set = await scene();
    const said = 'We measure first, as @Linus says; @Ada held otherwise.\n\n/status done\n/assign Linus';
    const over = await play(await convene(set), (name, prompt, run) =>
      prompt.includes('You have the chair') ? said : steady(name, prompt, run),
    );
    expect(over).toMatchObject({ status: 'completed', conclusion: said });
    expect(await findIssue(database.db, set.issue.id)).toMatchObject({
      status: set.issue.status,
      assignee_agent_id: set.grace.id,
    });
    const woken = await Promise.all(
      [set.ada, set.grace, set.linus].map(async ({ id }) => pendingWakeups(database.db, id)),
    );
    expect(woken).toMatchObject([[], [{ reason: 'comment' }], []]);
  });

  it('passes over the rounds that are left where nobody revises, and goes on where somebody does', async () => {
    const set = await scene();
    const calm = await play(await convene(set, { rounds: 5 }), steady);
    expect(new Set(calm.turns.map(({ round }) => round))).toEqual(new Set([1, 2, 6, 7]));
    const begun = await convene(set, { rounds: 3 });
    const moved = await play(begun, (name, prompt, run) =>
      prompt.includes('KEEP') && name === 'Linus' ? `Anew in ${prompt.length}.` : steady(name, prompt, run),
    );
    expect(new Set(moved.turns.map(({ round }) => round))).toEqual(new Set([1, 2, 3, 4, 5]));
    const second = moved.turns.filter(({ round }) => round === 2);
    expect(second.filter(({ is_revised }) => is_revised)).toMatchObject([{ agent_id: set.linus.id }]);
  });

  it('shows a reader the same order whenever it is asked, and others another one', () => {
    const ids = Array.from({ length: 8 }, () => newId());
    const of = { session_id: newId(), round: 2, reader_id: newId() };
    const order = shuffledFor(of, ids);
    expect(shuffledFor(of, ids.toReversed())).toEqual(order);
    expect(order.toSorted()).toEqual(ids.toSorted());
    expect(shuffledFor({ ...of, reader_id: newId() }, ids)).not.toEqual(order);
    expect([letter(0), letter(9)]).toEqual(['A', 'J']);
  });

  it('leaves out whoever fails, names it, and has the next one write where that had the chair', async () => {
    const set = await scene();
    const over = await play(await convene(set), (name, prompt, run) =>
      name === 'Ada' && prompt.includes('You have the chair') ? null : steady(name, prompt, run),
    );
    expect(over.status).toBe('completed');
    expect(over.turns.at(-1)).toMatchObject({ kind: 'conclusion', agent_id: expect.any(String) });
    expect(over.turns.at(-1)!.agent_id).not.toBe(set.ada.id);
    expect(over.participants[0]).toMatchObject({
      name: 'Ada',
      is_chair: false,
      left_out_reason: 'the model is gone',
    });
    const none = await play(await convene(set), () => null);
    expect(none).toMatchObject({ status: 'failed', error: 'no participant is left', conclusion: null });
  });

  it('takes no turn twice, however often it is moved on, and goes on where its job was lost', async () => {
    const set = await scene();
    const begun = await convene(set);
    await Promise.all([1, 2, 3].map(async () => write(async (tx) => advanceCouncil(tx, begun.id))));
    const runs = async () =>
      database.db.select().from(schema.heartbeat_runs).where(eq(schema.heartbeat_runs.subject_id, begun.id));
    expect(await runs()).toHaveLength(3);
    const run = await write(async (tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 }));
    // A cancelled member is left out.
    const other = (await runs()).find(({ status }) => status === 'queued')!;
    await write(async (tx) => cancelRun(tx, set.human, other));
    await write(async (tx) =>
      finishRun(tx, run!, { failure: null, text: 'Mine.', usage: null, changed: false }),
    );
    await database.db.execute(sql`delete from pgboss.job where name = 'advance-council'`);
    const last = await write(async (tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 }));
    await write(async (tx) =>
      finishRun(tx, last!, { failure: null, text: 'Mine too.', usage: null, changed: false }),
    );
    await database.db.execute(sql`delete from pgboss.job where name = 'advance-council'`);
    await database.db.execute(sql`
      update council_sessions set created_at = now() - interval '1 hour' where id = ${begun.id}`);
    await write(async (tx) => sweepCouncils(tx));
    expect(await queuedJobs(database.db, 'advance-council', { session_id: begun.id })).toHaveLength(1);
    const over = await play({ id: begun.id }, steady);
    // Nothing runs until the job is done.
    expect(over.status).toBe('running');
    await write(async (tx) => advanceCouncil(tx, begun.id));
    expect((await play(begun, steady)).status).toBe('completed');
  });
});

describe('a participant', () => {
  it('is the assignee also in a company of more agents than are considered', async () => {
    const set = await scene();
    for (let n = 0; n < 500; n += 1) await createAgent(database.db, set.company, { name: `Temp ${n}` });
    await database.db.execute(
      sql`update agents set created_at = created_at - interval '1 day' where name like 'Temp %'`,
    );
    const { participants } = await convene(set);
    expect(participants.map(({ agent_id }) => agent_id)).toEqual(
      expect.arrayContaining([set.ada.id, set.grace.id]),
    );
  });

  it('that the issue is assigned to, but paused, is named as left out; others take part instead', async () => {
    const set = await scene();
    const pause = { status: 'paused' } as const;
    await write(async (tx) =>
      tx.update(schema.agents).set(pause).where(eq(schema.agents.id, set.issue.assignee_agent_id!)),
    );
    const { participants } = await convene(set);
    const out = participants.filter(({ left_out_reason: why }) => why !== null);
    expect(out).toMatchObject([
      { agent_id: set.issue.assignee_agent_id, left_out_reason: 'agent is paused', is_chair: false },
    ]);
    expect(participants.length).toBeGreaterThanOrEqual(3);
  });

  it('that is paused, or runs out of budget, in the middle is left out at once', async () => {
    const set = await scene();
    await budget(set, 1, set.linus);
    const begun = await convene(set);
    await write(async (tx) =>
      tx.update(schema.agents).set({ status: 'paused' }).where(eq(schema.agents.id, set.grace.id)),
    );
    const spent = { agent_id: set.linus.id, provider: 'x', model: 'x', cost_usd: 2 };
    await write(async (tx) => reportCost(tx, set.human, set.company.id, spent));
    await write(async (tx) => sweepCouncils(tx));
    await write(async (tx) => advanceCouncil(tx, begun.id));
    const over = await play(begun, steady);
    expect(over.participants.map(({ name, left_out_reason: why }) => [name, why])).toEqual([
      ['Ada', null],
      ['Grace', 'the agent may not run now'],
      ['Linus', 'the agent may not run now'],
    ]);
    // A single remaining member concludes by itself.
    expect(over.turns.map(({ kind }) => kind)).toEqual(['answer', 'conclusion']);
  });
});

describe('a council is refused or ended', () => {
  it('while another one runs, without two agents, on an issue that is over, and with agents of others', async () => {
    const set = await scene();
    const begun = await convene(set);
    await expect(convene(set)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'council already running',
      extra: { session_id: begun.id },
    });
    const stranger = await createAgent(database.db, await createCompany(database.db));
    const other = await scene();
    await expect(convene(other, { agent_ids: [other.ada.id, stranger.id] })).rejects.toMatchObject({
      kind: 'not_found',
    });
    await write(async (tx) =>
      tx.update(schema.agents).set({ status: 'paused' }).where(eq(schema.agents.id, other.linus.id)),
    );
    await expect(convene(other, { agent_ids: [other.linus.id, other.grace.id] })).rejects.toThrow(
      'a council needs two agents: Linus: agent is paused',
    );
    const paused = await convene(other, { agent_ids: [other.linus.id, other.grace.id, other.ada.id] });
    expect(paused.participants.find(({ name }) => name === 'Linus')).toMatchObject({
      left_out_reason: 'agent is paused',
    });
    const lonely = await scene();
    await database.db.execute(
      sql`update agents set deleted_at = now() where id in (${lonely.ada.id}, ${lonely.linus.id})`,
    );
    await expect(convene(lonely)).rejects.toThrow('a council needs two agents');
    await database.db.execute(sql`update issues set status = 'done' where id = ${lonely.issue.id}`);
    await expect(convene(lonely)).rejects.toThrow('is done');
  });

  it('by an agent in a council’s turn, or at the end of a long chain of causes', async () => {
    const set = await scene();
    await convene(set);
    const run = (await write(async (tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 })))!;
    const elsewhere = await createIssue(database.db, set.company, { assignee_agent_id: set.grace.id });
    const issue = (await findIssue(database.db, elsewhere.id))!;
    await expect(write(async (tx) => conveneCouncil(tx, run.actor, issue))).rejects.toMatchObject({
      kind: 'forbidden',
    });
    const late = actors.agent(set.grace, { depth: 12 });
    await expect(write(async (tx) => conveneCouncil(tx, late, issue))).rejects.toThrow('too many agents');
    const mine = await write(async (tx) => conveneCouncil(tx, actors.agent(set.grace, { depth: 3 }), issue));
    expect(mine.convened_by_agent_id).toBe(set.grace.id);
  });

  it('over budget: the company’s stops it, an agent’s own leaves that agent out', async () => {
    const set = await scene();
    await budget(set, 0.5);
    await expect(convene(set)).rejects.toThrow('budget exceeded');
    expect(await reserved(set)).toBe(0);
    const other = await scene();
    await budget(other, 100);
    await budget(other, 0.2, other.linus);
    const begun = await convene(other);
    expect(begun.participants.find(({ name }) => name === 'Linus')).toMatchObject({
      left_out_reason: 'its budget has not so much left',
    });
    // Two members: four answers and a conclusion, no ranking.
    expect(await reserved(other)).toBeCloseTo(0.8);
    await write(async (tx) => cancelCouncil(tx, other.human, (await findCouncil(tx, begun.id))!));
    expect(await now(begun)).toMatchObject({ status: 'failed', error: 'cancelled by Olga' });
    expect(await reserved(other)).toBe(0);
  });

  it('with its issue, in the middle: its turns are called off and nothing is said', async () => {
    const set = await scene();
    const begun = await convene(set);
    await write(async (tx) =>
      updateIssue(tx, set.human, (await findIssue(tx, set.issue.id))!, { status: 'cancelled' }),
    );
    expect(await queuedJobs(database.db, 'advance-council', { session_id: begun.id })).not.toEqual([]);
    await write(async (tx) => advanceCouncil(tx, begun.id));
    expect(await now(begun)).toMatchObject({ status: 'failed', error: 'the issue is cancelled' });
    const live = await database.db.execute(
      sql`select 1 from heartbeat_runs where subject_id = ${begun.id} and status in ('queued', 'running')`,
    );
    expect(live.rows).toEqual([]);
  });
});
