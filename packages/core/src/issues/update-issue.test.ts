import { beforeAll, describe, expect, it } from '@jest/globals';
import type { UpdateIssue } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  queuedJobs,
  waitFor,
} from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import { awaitInput, deleteIssue, findIssue, type IssueRow, setNeedsRouting, updateIssue } from './index.ts';
import { presentIssue } from './present.ts';

const { issues, issue_relations, wakeup_requests } = schema;
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const [ada, bob] = [await createAgent(database.db, company), await createAgent(database.db, company)];
  const human = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const make = async (values: Parameters<typeof createIssue>[2]) => createIssue(database.db, company, values);
  return { company, ada, bob, human, make };
}

const patch = async (actor: Parameters<typeof updateIssue>[1], issue: IssueRow, changes: UpdateIssue) =>
  transaction(database, (tx) => updateIssue(tx, actor, issue, changes));

const row = async (id: string) => {
  const [found] = await database.db.select().from(issues).where(eq(issues.id, id));
  return found!;
};

const reasons = async (agent: { id: string }, issue: { id: string }) => {
  const found = await database.db
    .select()
    .from(wakeup_requests)
    .where(and(eq(wakeup_requests.agent_id, agent.id), eq(wakeup_requests.issue_id, issue.id)));
  return found.map((wakeup) => wakeup.reason);
};

const entries = async (issue: { id: string }) =>
  database.db.select().from(schema.activity).where(eq(schema.activity.entity_id, issue.id));

const blocks = async (source: IssueRow, target: IssueRow, relation_type = 'blocks') =>
  database.db.insert(issue_relations).values({
    company_id: source.company_id,
    source_issue_id: source.id,
    target_issue_id: target.id,
    relation_type,
  });

const held = (agent: { id: string }) => ({
  checked_out_by_agent_id: agent.id,
  checked_out_at: new Date(),
  checkout_run_id: newId(),
});
const free = { checked_out_by_agent_id: null, checked_out_at: null, checkout_run_id: null };

const shown = async (id: string) => presentIssue((await findIssue(database.db, id))!);

const waitsForLock = async ({ db }: Database) => {
  const { rows } = await db.execute(sql`
    select from pg_locks where not granted and pid in (
      select pid from pg_stat_activity where datname = current_database())`);
  return rows.length > 0;
};

describe('the notice of a blocked issue', () => {
  const notices = async (company: { id: string }) => {
    const rows = await database.db
      .select({ data: schema.outbox.data })
      .from(schema.outbox)
      .where(and(eq(schema.outbox.company_id, company.id), eq(schema.outbox.type, 'notification')));
    return rows.map(({ data }) => data);
  };
  const asked = async (s: Awaited<ReturnType<typeof stage>>, issue: IssueRow) =>
    transaction(database, (tx) => awaitInput(tx, actors.agent(s.ada), issue, 'Which colour?'));

  it('reaches the admins once when the agent that blocks it asks for it', async () => {
    const s = await stage();
    await database.db
      .update(schema.agents)
      .set({ blocked_notify_enabled: true })
      .where(eq(schema.agents.id, s.ada.id));
    const issue = await s.make({ assignee_agent_id: s.ada.id });
    await asked(s, issue);
    await asked(s, issue);
    expect(await notices(s.company)).toEqual([
      {
        topic: 'issue_blocked',
        level: 'warning',
        message: `${issue.identifier} of ${s.ada.name} is blocked: Which colour?`,
        entity_type: 'issue',
        entity_id: issue.id,
      },
    ]);
    const other = await s.make({ assignee_agent_id: s.ada.id });
    await patch(actors.agent(s.ada), other, { status: 'blocked' });
    expect(await notices(s.company)).toHaveLength(2);
  });

  it('is not sent for an agent that does not ask for it, nor for a human’s own act', async () => {
    const s = await stage();
    await asked(s, await s.make({ assignee_agent_id: s.ada.id }));
    await database.db
      .update(schema.agents)
      .set({ blocked_notify_enabled: true })
      .where(eq(schema.agents.id, s.ada.id));
    await patch(s.human, await s.make({ assignee_agent_id: s.ada.id }), { status: 'blocked' });
    expect(await notices(s.company)).toEqual([]);
  });
});

describe('updateIssue', () => {
  it('writes activity with old and new values and one event; null clears, absent stays', async () => {
    const s = await stage();
    const issue = await s.make({ title: 'old', body_markdown: 'text', priority: 'low' });
    const after = await patch(s.human, issue, { title: 'new', body_markdown: null });
    expect(after).toMatchObject({ title: 'new', body_markdown: null, priority: 'low', status: 'todo' });
    expect(await entries(issue)).toMatchObject([
      {
        action: 'issue.updated',
        actor_id: s.human.user_id,
        details: {
          changes: { title: { from: 'old', to: 'new' }, body_markdown: { from: 'text', to: null } },
        },
      },
    ]);
    const events = await database.db
      .select()
      .from(schema.outbox)
      .where(eq(schema.outbox.company_id, s.company.id));
    expect(events).toMatchObject([{ type: 'issue_updated', data: { id: issue.id, title: 'new' } }]);
  });

  it('that changes nothing writes nothing', async () => {
    const s = await stage();
    const issue = await s.make({ title: 'same' });
    expect(await patch(s.human, issue, { title: 'same', status: 'todo' })).toMatchObject({
      updated_at: issue.updated_at,
    });
    expect(await entries(issue)).toEqual([]);
  });

  it('of a title takes five statements, four if the caller has read the issue', async () => {
    const s = await stage();
    const issue = await s.make({});
    const read = (await findIssue(database.db, issue.id))!;
    const taken = async (subject: IssueRow, title: string) => {
      const before = database.statements();
      await patch(s.human, subject, { title });
      return database.statements() - before;
    };
    expect([await taken(read, 'new'), await taken(issue, 'newer')]).toEqual([4, 5]);
  });

  it('answers with and records the row as it is, whatever has happened since the caller read it', async () => {
    const s = await stage();
    const issue = await s.make({ status: 'blocked', priority: 'low', assignee_agent_id: s.ada.id });
    const read = (await findIssue(database.db, issue.id))!;
    const first = await patch(s.human, read, { status: 'todo', title: 'painted' });
    expect(first).toEqual(await shown(issue.id));
    expect(await reasons(s.ada, issue)).toEqual(['unblocked']);
    const late = await patch(s.human, read, { status: 'in_progress', priority: 'high' });
    expect(late).toEqual(await shown(issue.id));
    expect(late).toMatchObject({ title: 'painted', status: 'in_progress', priority: 'high' });
    const recorded = (await entries(issue)).map(({ details }) => (details as { changes: unknown }).changes);
    expect(recorded).toContainEqual({
      status: { from: 'todo', to: 'in_progress' },
      priority: { from: 'low', to: 'high' },
    });
  });

  it('sees what its own transaction has changed since the issue was read', async () => {
    const s = await stage();
    const issue = await s.make({ status: 'todo' });
    await transaction(database, async (tx) => {
      await updateIssue(tx, s.human, issue, { title: 'first' });
      const read = (await findIssue(tx, issue.id))!;
      await updateIssue(tx, s.human, read, { status: 'blocked' });
      await updateIssue(tx, s.human, read, { status: 'in_progress' });
    });
    const changed = (await entries(issue)).map(({ details }) => (details as { changes: object }).changes);
    expect(changed).toContainEqual({ status: { from: 'blocked', to: 'in_progress' } });
  });

  it('waits for a change that is under way, then builds on it', async () => {
    const s = await stage();
    const issue = await s.make({ status: 'todo' });
    const read = (await findIssue(database.db, issue.id))!;
    const [changed, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const other = transaction(database, async (tx) => {
      await updateIssue(tx, s.human, read, { status: 'in_review' });
      changed.resolve();
      await mayEnd.promise;
    });
    await changed.promise;
    const mine = patch(s.human, read, { status: 'in_progress' });
    await waitFor(async () => waitsForLock(database), { what: 'the second change to wait' });
    mayEnd.resolve();
    await Promise.all([other, mine]);
    const seen = (await entries(issue)).map(({ details }) => (details as { changes: object }).changes);
    expect(seen).toContainEqual({ status: { from: 'in_review', to: 'in_progress' } });
  });

  it('with an unknown or foreign reference is invalid', async () => {
    const [s, other] = [await stage(), await stage()];
    const issue = await s.make({});
    for (const changes of [
      { assignee_agent_id: other.ada.id },
      { project_id: newId() },
      { goal_id: newId() },
    ])
      await expect(patch(s.human, issue, changes)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('by an agent that may not assign is forbidden only where the assignee would change', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.ada.id });
    const actor = actors.agent({ ...s.bob, permissions: { 'issues.assign': false } });
    await expect(patch(actor, issue, { assignee_agent_id: s.bob.id })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    await expect(patch(actor, issue, { assignee_agent_id: null })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    await patch(actor, issue, { assignee_agent_id: s.ada.id, title: 'mine' });
  });

  it('of the assignee frees the checkout, ends the routing and wakes the new one', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.ada.id, needs_routing: true, ...held(s.ada) });
    const after = await patch(s.human, issue, { assignee_agent_id: s.bob.id });
    expect(after).toMatchObject({ needs_routing: false, checked_out_by_agent_id: null });
    expect(await row(issue.id)).toMatchObject(free);
    expect(await reasons(s.bob, issue)).toEqual(['assignment']);
    expect(await reasons(s.ada, issue)).toEqual([]);
  });

  it('of the assignee to the agent that holds the issue keeps its checkout', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.ada.id, ...held(s.bob) });
    const after = await patch(s.human, issue, { assignee_agent_id: s.bob.id });
    expect(after).toMatchObject({ checked_out_by_agent_id: s.bob.id });
    expect(await patch(s.human, issue, { assignee_agent_id: null })).toMatchObject({
      checked_out_by_agent_id: null,
    });
  });

  it('of the status wakes the assignee when the issue gives work that it did not give before', async () => {
    const s = await stage();
    const cases = [
      ['backlog', 'todo', ['assignment']],
      ['blocked', 'in_progress', ['unblocked']],
      ['todo', 'in_progress', []],
      ['todo', 'backlog', []],
      ['in_review', 'todo', ['assignment']],
    ] as const;
    for (const [from, to, expected] of cases) {
      const issue = await s.make({ assignee_agent_id: s.ada.id, status: from });
      await patch(s.human, issue, { status: to });
      expect(await reasons(s.ada, issue)).toEqual(expected);
    }
  });

  it.each(['done', 'cancelled'] as const)(
    'to %s frees the checkout and clears every flag',
    async (status) => {
      const s = await stage();
      const issue = await s.make({
        status: 'blocked',
        blocked_at: new Date(),
        blocked_reason: 'why',
        awaiting_input: true,
        needs_routing: true,
        ...held(s.ada),
      });
      await patch(s.human, issue, { status });
      expect(await row(issue.id)).toMatchObject({
        ...free,
        status,
        blocked_at: null,
        blocked_reason: null,
        awaiting_input: false,
        needs_routing: false,
      });
    },
  );

  it('to blocked notes when and by which agent; back clears it', async () => {
    const s = await stage();
    const issue = await s.make({});
    const blocked = await patch(actors.agent(s.ada), issue, { status: 'blocked' });
    expect(blocked).toMatchObject({ blocked_at: expect.any(Date), blocked_by_agent_id: s.ada.id });
    const back = await patch(s.human, issue, { status: 'todo' });
    expect(back).toMatchObject({ blocked_at: null, blocked_by_agent_id: null });
  });

  it('by a human starts the loop breaker anew and wakes the assignee; by an agent it stays', async () => {
    const s = await stage();
    const issue = await s.make({
      assignee_agent_id: s.ada.id,
      stalled_runs: 5,
      needs_human_attention: true,
    });
    await patch(actors.agent(s.bob), issue, { priority: 'high' });
    expect(await row(issue.id)).toMatchObject({ stalled_runs: 5, needs_human_attention: true });
    await patch(s.human, issue, { priority: 'low' });
    expect(await row(issue.id)).toMatchObject({ stalled_runs: 0, needs_human_attention: false });
    expect(await reasons(s.ada, issue)).toEqual(['manual']);
  });

  it('of an issue trashed meanwhile is not found', async () => {
    const s = await stage();
    const issue = (await findIssue(database.db, (await s.make({})).id))!;
    await transaction(database, (tx) => deleteIssue(tx, s.human, issue));
    await expect(patch(s.human, issue, { title: 'late' })).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('what waits for an issue', () => {
  it('a blocked parent returns to todo with its last open child, its assignee woken', async () => {
    const s = await stage();
    const parent = await s.make({ status: 'blocked', assignee_agent_id: s.ada.id, blocked_at: new Date() });
    const [one, two] = [
      await s.make({ parent_issue_id: parent.id }),
      await s.make({ parent_issue_id: parent.id }),
    ];
    await patch(s.human, one, { status: 'done' });
    expect(await row(parent.id)).toMatchObject({ status: 'blocked' });
    await patch(s.human, two, { status: 'cancelled' });
    expect(await row(parent.id)).toMatchObject({ status: 'todo', blocked_at: null });
    expect(await reasons(s.ada, parent)).toEqual(['unblocked']);
    expect((await entries(parent)).map((entry) => entry.action)).toEqual(['issue.unblocked']);
  });

  it('a target of blocks and a source of depends_on return to todo with the last of all they wait for', async () => {
    const s = await stage();
    const target = await s.make({ status: 'blocked', assignee_agent_id: s.ada.id });
    const [one, two, child] = [
      await s.make({}),
      await s.make({}),
      await s.make({ parent_issue_id: target.id }),
    ];
    await blocks(one, target);
    await blocks(target, two, 'depends_on');
    await patch(s.human, one, { status: 'done' });
    await patch(s.human, child, { status: 'done' });
    expect(await row(target.id)).toMatchObject({ status: 'blocked' });
    await patch(s.human, two, { status: 'done' });
    expect(await row(target.id)).toMatchObject({ status: 'todo' });
  });

  it('neither an issue that awaits input nor one that is not blocked is touched', async () => {
    const s = await stage();
    const [asking, busy] = [
      await s.make({ status: 'blocked', awaiting_input: true }),
      await s.make({ status: 'in_review' }),
    ];
    const source = await s.make({});
    await blocks(source, asking);
    await blocks(source, busy);
    await blocks(source, await s.make({ status: 'blocked' }), 'relates_to');
    await patch(s.human, source, { status: 'done' });
    expect(await row(asking.id)).toMatchObject({ status: 'blocked', awaiting_input: true });
    expect(await row(busy.id)).toMatchObject({ status: 'in_review' });
  });

  it('the last two children ending at the same moment free the parent, every time', async () => {
    const s = await stage();
    for (let round = 0; round < 10; round += 1) {
      const parent = await s.make({ status: 'blocked' });
      const children = await Promise.all(
        [1, 2, 3, 4].map(async () => s.make({ parent_issue_id: parent.id })),
      );
      await Promise.all(children.map(async (child) => patch(s.human, child, { status: 'done' })));
      expect(await row(parent.id)).toMatchObject({ status: 'todo' });
    }
  });
});

describe('deleteIssue', () => {
  it('moves the issue to the trash, frees it and who waited, and has its runs settled', async () => {
    const s = await stage();
    const parent = await s.make({ status: 'blocked', assignee_agent_id: s.ada.id });
    const issue = await s.make({ parent_issue_id: parent.id, ...held(s.bob) });
    await transaction(database, (tx) => deleteIssue(tx, s.human, issue));
    expect(await findIssue(database.db, issue.id)).toBeUndefined();
    expect(await row(issue.id)).toMatchObject({ ...free, deleted_at: expect.any(Date) });
    expect(await row(parent.id)).toMatchObject({ status: 'todo' });
    expect(await queuedJobs(database.db, 'settle-issue', { issue_id: issue.id })).toHaveLength(1);
    const events = await database.db
      .select()
      .from(schema.outbox)
      .where(eq(schema.outbox.company_id, s.company.id));
    expect(events.map((event) => event.type)).toEqual(['issue_deleted', 'issue_updated']);
    await expect(transaction(database, (tx) => deleteIssue(tx, s.human, issue))).rejects.toMatchObject({
      kind: 'not_found',
    });
  });
});

describe('flags of an agent', () => {
  it('awaitInput blocks the issue with the question, needsRouting only marks it', async () => {
    const s = await stage();
    const issue = await s.make({ status: 'in_progress' });
    const actor = actors.agent(s.ada);
    expect(await transaction(database, (tx) => setNeedsRouting(tx, actor, issue))).toMatchObject({
      status: 'in_progress',
      needs_routing: true,
    });
    const blocked = await transaction(database, (tx) => awaitInput(tx, actor, issue, 'which?'.repeat(1000)));
    expect(blocked).toMatchObject({ status: 'blocked', awaiting_input: true, blocked_by_agent_id: s.ada.id });
    expect(blocked.blocked_reason).toHaveLength(2048);
  });
});
