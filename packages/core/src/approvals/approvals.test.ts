import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, CreateApproval } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createMembership,
  createUser,
  databaseWithQueue,
  queuedJobs,
  nextInstant,
  pendingWakeups,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import { createAgent as hire } from '../index.ts';
import {
  applyApproval,
  approve,
  decideApprovals,
  createApproval,
  createApprovalComment,
  failApproval,
  findApproval,
  type InstallAppliers,
  listApprovalComments,
  listApprovals,
  reject,
  requestInstallApproval,
  requestRevision,
  resubmitApproval,
  sweepUnappliedApprovals,
} from './index.ts';

const { agents, approvals, board_user_keys, memberships, outbox } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const appliers: InstallAppliers = {
  agent: (tx, actor, { company_id, body }) => hire(tx, actor, company_id, body as { name: string }),
};

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const user = await createUser(database.db, { display_name: 'Grace' });
  await createMembership(database.db, company, user);
  const human = actors.user(user, { [company.id]: 'member' });
  const requester = actors.agent(agent);
  const ask = async (values: Partial<CreateApproval> = {}, actor: Actor = requester) => {
    const { id } = await transaction(database, async (tx) =>
      createApproval(tx, actor, company.id, { type: 'plan', title: 'Paint it green', ...values }),
    );
    return (await findApproval(database.db, id))!;
  };
  const askToHire = async (name: string) => ask({ type: 'hire_agent', title: 'Hire', payload: { name } });
  const hired = async (name: string) =>
    database.db.$count(agents, and(eq(agents.company_id, company.id), eq(agents.name, name)));
  return { company, agent, human, requester, ask, askToHire, hired };
}

type Row = NonNullable<Awaited<ReturnType<typeof findApproval>>>;
const decide = async (how: typeof approve, actor: Actor, row: Row, note?: string) =>
  transaction(database, async (tx) => how(tx, actor, row, note === undefined ? undefined : { note }));
const apply = async ({ id }: { id: string }, by = appliers) =>
  transaction(database, async (tx) => applyApproval(tx, id, by));
const read = async ({ id }: { id: string }) => (await findApproval(database.db, id))!;

describe('an approval', () => {
  it('is resolved by people, who wake its requester; agents are refused', async () => {
    const { company, agent, human, requester, ask } = await setUp();
    const issue = await createIssue(database.db, company);
    const row = await ask({ issue_id: issue.id });
    await expect(decide(approve, requester, row)).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await decide(approve, human, row, 'fine')).toMatchObject({
      status: 'approved',
      decision_note: 'fine',
      decided_by_user_id: human.user_id,
    });
    expect(await pendingWakeups(database.db, agent.id)).toMatchObject([
      { issue_id: issue.id, reason: 'approval', payload: { approval_id: row.id, status: 'approved' } },
    ]);
    const sent = await database.db.select().from(outbox).where(eq(outbox.company_id, company.id));
    expect(sent.map(({ type }) => type).toSorted()).toEqual(['approval_created', 'approval_resolved']);
    expect(await queuedJobs(database.db, 'apply-approval', { approval_id: row.id })).toEqual([]);
  });

  it('is resolved once, also by two at the same time', async () => {
    const { company, human, ask } = await setUp();
    const row = await ask();
    const both = await Promise.allSettled([
      decide(approve, human, row),
      decide(reject, actors.board(company), row),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await expect(decide(requestRevision, human, row)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'approval is resolved already',
    });
  });

  it('is decided with others: what has changed since, or is resolved, is left out and named', async () => {
    const { company, agent, human, requester, ask, askToHire } = await setUp();
    const rows = [await ask(), await askToHire('Ada'), await ask(), await ask()];
    const [plain, hiring, resolved, changed] = rows as [Row, Row, Row, Row];
    const shown = rows.map(({ id, updated_at }) => ({ approval_id: id, updated_at }));
    await decide(reject, human, resolved);
    await decide(requestRevision, human, changed);
    await transaction(database, async (tx) =>
      resubmitApproval(tx, requester, await read(changed), { title: 'Paint it black' }),
    );
    const all = async (actor: Actor, versions = shown) =>
      transaction(database, async (tx) =>
        decideApprovals(tx, actor, company.id, { decision: 'approved', note: 'Go', approvals: versions }),
      );
    await expect(all(requester)).rejects.toMatchObject({ kind: 'forbidden' });
    const { decided, left_out } = await all(human);
    expect(decided.toSorted()).toEqual([plain.id, hiring.id].toSorted());
    expect(new Map(left_out.map(({ approval_id, reason }) => [approval_id, reason]))).toEqual(
      new Map([
        [resolved.id, 'the approval has changed since it was shown'],
        [changed.id, 'the approval has changed since it was shown'],
      ]),
    );
    expect(await read(plain)).toMatchObject({ status: 'approved', applied_at: expect.any(Date) });
    expect(await read(hiring)).toMatchObject({ status: 'approved', applied_at: null, decision_note: 'Go' });
    expect(await read(changed)).toMatchObject({ status: 'pending' });
    expect(await queuedJobs(database.db, 'apply-approval', { approval_id: hiring.id })).toHaveLength(1);
    // With those that were decided before: it has not begun since.
    const [wakeup, ...others] = await pendingWakeups(database.db, agent.id);
    expect(others).toEqual([]);
    const { decisions } = wakeup!.payload as { decisions: object };
    const asked = [plain, hiring, resolved, changed].map(({ id }) => id);
    expect(Object.keys(decisions).toSorted()).toEqual(asked.toSorted());
    const foreign = await (await setUp()).ask();
    for (const versions of [[shown[0]!, shown[0]!], [{ ...shown[0]!, approval_id: foreign.id }]])
      await expect(all(human, versions)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('that was sent back is not decided before it is resubmitted, and says so', async () => {
    const { human, ask } = await setUp();
    const row = await ask();
    await decide(requestRevision, human, row);
    for (const decision of [approve, reject, requestRevision])
      await expect(
        transaction(database, async (tx) => decision(tx, human, await read(row))),
      ).rejects.toMatchObject({
        kind: 'conflict',
        message: 'a revision was requested: the approval waits to be resubmitted',
      });
  });

  it('that has changed since it was shown is not decided by who saw the former one', async () => {
    const { human, requester, ask } = await setUp();
    const shown = await ask();
    await decide(requestRevision, human, shown);
    await transaction(database, async (tx) =>
      resubmitApproval(tx, requester, await read(shown), { title: 'Paint it black' }),
    );
    const on = async (row: Row) =>
      transaction(database, async (tx) =>
        approve(tx, human, await read(row), { updated_at: row.updated_at }),
      );
    await expect(on(shown)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'the approval has changed since it was shown',
    });
    expect(await read(shown)).toMatchObject({ status: 'pending', title: 'Paint it black' });
    expect(await on(await read(shown))).toMatchObject({ status: 'approved' });
  });

  it('sent back is resubmitted by its requester alone, and then pending again', async () => {
    const { company, human, requester, ask } = await setUp();
    const row = await ask();
    const resubmit = async (actor: Actor) =>
      transaction(database, async (tx) => resubmitApproval(tx, actor, row, { title: 'Paint it blue' }));
    await expect(resubmit(requester)).rejects.toMatchObject({ kind: 'conflict' });
    await decide(requestRevision, human, row, 'not green');
    await expect(resubmit(human)).rejects.toMatchObject({ kind: 'forbidden' });
    await expect(resubmit(actors.board(company))).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await resubmit(requester)).toMatchObject({
      status: 'pending',
      title: 'Paint it blue',
      decision_note: null,
    });
    const key = actors.board(company);
    const of_key = await ask({}, key);
    await decide(requestRevision, human, of_key);
    expect(await transaction(database, async (tx) => resubmitApproval(tx, key, of_key))).toMatchObject({
      status: 'pending',
    });
  });

  it('is listed newest first, by status, page by page', async () => {
    const { company, human, ask } = await setUp();
    const first = await ask();
    await nextInstant();
    const second = await ask();
    await decide(reject, human, first);
    const list = async (filter: Parameters<typeof listApprovals>[2]) =>
      listApprovals(database.db, company.id, filter);
    expect((await list({ status: 'pending,approved' })).items.map(({ id }) => id)).toEqual([second.id]);
    const page = await list({ limit: 1 });
    expect(page.items.map(({ id }) => id)).toEqual([second.id]);
    expect((await list({ limit: 1, cursor: page.next_cursor! })).items.map(({ id }) => id)).toEqual([
      first.id,
    ]);
    await expect(list({ status: 'maybe' })).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('has comments of people and agents', async () => {
    const { company, human, requester, ask } = await setUp();
    const row = await ask();
    for (const actor of [human, requester, actors.board(company)])
      await transaction(database, async (tx) =>
        createApprovalComment(tx, actor, row, { body_markdown: 'Hm.' }),
      );
    const { items } = await listApprovalComments(database.db, row, {});
    // Comments within the same millisecond have no defined order.
    const authors = items.map((comment) => comment.author_user_name ?? comment.author_agent_id);
    expect(authors).toHaveLength(3);
    expect(new Set(authors)).toEqual(new Set([requester.agent_id, 'Grace', 'integration']));
    const first = await listApprovalComments(database.db, row, { limit: 2 });
    expect(first.items).toEqual(items.slice(0, 2));
    const rest = await listApprovalComments(database.db, row, { cursor: first.next_cursor! });
    expect(rest).toEqual({ items: items.slice(2), next_cursor: null });
  });

  it.each([
    [{ type: 'hire_agent', payload: { role: 'ceo' } }],
    [{ type: 'hire_agent' }],
    [{ type: 'install', payload: { kind: 'virus', body: {} } }],
    [{ type: 'install', payload: { kind: 'agent', body: {} } }],
    [{ issue_id: '00000000-0000-4000-8000-000000000000' }],
  ] as [Partial<CreateApproval>][])('of %j is refused', async (values) => {
    const { ask } = await setUp();
    await expect(ask(values)).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('what was approved', () => {
  it('is carried out once, by however many at once, in the approver’s name', async () => {
    const { human, askToHire, hired } = await setUp();
    const row = await askToHire('Linus');
    expect(await apply(row)).toBe('nothing');
    await decide(approve, human, row);
    expect(await queuedJobs(database.db, 'apply-approval', { approval_id: row.id })).toHaveLength(1);
    const outcomes = await Promise.all(Array.from({ length: 4 }, async () => apply(row)));
    expect(outcomes.toSorted()).toEqual(['applied', 'nothing', 'nothing', 'nothing']);
    expect(await hired('Linus')).toBe(1);
    expect(await read(row)).toMatchObject({ status: 'approved', applied_at: expect.any(Date) });
    await expect(decide(approve, human, row)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('and could not be carried out says why, and waits for a new approve or a resubmit', async () => {
    const { human, requester, askToHire, hired } = await setUp();
    const row = await askToHire('Linus');
    await decide(approve, human, row);
    await expect(apply(row, {})).rejects.toMatchObject({ message: 'this instance cannot install: agent' });
    await transaction(database, async (tx) => failApproval(tx, row.id, 'no room'));
    expect(await read(row)).toMatchObject({ status: 'approved', applied_at: null, apply_error: 'no room' });
    expect(await apply(row)).toBe('nothing');
    await expect(decide(reject, human, row)).rejects.toMatchObject({ kind: 'conflict' });
    await decide(approve, human, row);
    await transaction(database, async (tx) => failApproval(tx, row.id, 'still no room'));
    await transaction(database, async (tx) =>
      resubmitApproval(tx, requester, row, { payload: { name: 'Ken' } }),
    );
    expect(await read(row)).toMatchObject({ status: 'pending', apply_error: null });
    await decide(approve, human, row);
    expect(await apply(row)).toBe('applied');
    expect([await hired('Linus'), await hired('Ken')]).toEqual([0, 1]);
  });

  it('is not carried out in the name of somebody who may not any more', async () => {
    const { human, askToHire, hired } = await setUp();
    const row = await askToHire('Linus');
    await decide(approve, human, row);
    await database.db.delete(memberships).where(eq(memberships.user_id, human.user_id));
    await expect(apply(row)).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await hired('Linus')).toBe(0);
  });

  it('is not carried out in the name of a key that has reached its end', async () => {
    const { company, askToHire, hired } = await setUp();
    const row = await askToHire('Late');
    const [key] = await database.db
      .insert(board_user_keys)
      .values({ company_id: company.id, role: 'admin', key_hash: row.id, key_prefix: 'sk_12345' })
      .returning();
    const ours = eq(board_user_keys.id, key!.id);
    await decide(approve, { ...actors.board(company, 'admin'), key_id: key!.id }, row);
    await database.db
      .update(board_user_keys)
      .set({ expires_at: new Date(0) })
      .where(ours);
    await expect(apply(row)).rejects.toMatchObject({ kind: 'forbidden' });
    await database.db.update(board_user_keys).set({ expires_at: null }).where(ours);
    expect([await apply(row), await hired('Late')]).toEqual(['applied', 1]);
  });

  it('gives an approver no rights: a configuration with secrets needs an admin', async () => {
    const { human, ask } = await setUp();
    const payload = { name: 'Spy', adapter_config: { key: '${secret:API_KEY}' } };
    const row = await ask({ type: 'hire_agent', payload });
    await decide(approve, human, row);
    await expect(apply(row)).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('and lost its job is found by the sweep', async () => {
    const { human, ask, askToHire } = await setUp();
    const lost = await askToHire('Linus');
    const plan = await ask();
    await decide(approve, human, lost);
    await decide(approve, human, plan);
    const ids = [lost.id, plan.id];
    await database.db.execute(sql`update approvals set decided_at = now() - interval '2 minutes'
      where id in (${lost.id}, ${plan.id})`);
    await transaction(database, async (tx) => sweepUnappliedApprovals(tx));
    const jobs = await Promise.all(
      ids.map(async (approval_id) => queuedJobs(database.db, 'apply-approval', { approval_id })),
    );
    expect(jobs.map(({ length }) => length)).toEqual([2, 0]);
    await database.db.delete(approvals).where(eq(approvals.id, lost.id));
  });
});

describe('an agent without a permission', () => {
  it('gets a pending approval, the same one when it asks again', async () => {
    const { company, agent } = await setUp();
    const actor = actors.agent({ ...agent, permissions: { 'agents.create': false } });
    const request = async (kind: 'agent' | 'skill', body: Record<string, unknown> | string) =>
      transaction(database, async (tx) =>
        requestInstallApproval(tx, actor, { company_id: company.id, issue_id: null, kind, body }),
      );
    const first = await request('agent', { name: 'Linus', role: 'qa' });
    expect(first).toMatchObject({
      type: 'hire_agent',
      title: 'Hire: Linus',
      status: 'pending',
      payload: { name: 'Linus', role: 'qa' },
      requested_by_agent_id: agent.id,
    });
    expect((await request('agent', { role: 'qa', name: 'Linus' })).id).toBe(first.id);
    expect(await request('skill', '---\nname: Sweep\n---\n')).toMatchObject({
      type: 'install',
      title: 'Install skill: Sweep',
    });
    // Read in linear time, whatever the body is.
    await expect(request('skill', `---${'\n'.repeat(300_000)}`)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(request('agent', {})).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('to ask for approvals gets none', async () => {
    const { company, agent } = await setUp();
    const actor = actors.agent({ ...agent, permissions: { 'approvals.request': false } });
    const asked = transaction(database, async (tx) =>
      requestInstallApproval(tx, actor, {
        company_id: company.id,
        issue_id: null,
        kind: 'agent',
        body: { name: 'x' },
      }),
    );
    await expect(asked).rejects.toMatchObject({ kind: 'forbidden' });
  });
});

it('the same request of two runs of an agent at once is one approval', async () => {
  const { company, requester } = await setUp();
  const withheld = { company_id: company.id, issue_id: null, kind: 'agent', body: { name: 'Bob' } } as const;
  const ask = async (tx: Tx) => (await requestInstallApproval(tx, requester, withheld)).id;
  const ids = await transaction(database, async (tx) => {
    const first = await ask(tx);
    const second = transaction(database, ask);
    await Promise.race([second, waitFor(async () => (await waitingForLocks(database)) === 1)]);
    return { first, second };
  });
  expect(await ids.second).toBe(ids.first);
});
