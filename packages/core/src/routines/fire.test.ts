import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, CreateRoutine } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createUser, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { newId } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import { isCompanyAdmin } from '../agents/index.ts';
import { findIssue, updateIssue } from '../issues/index.ts';
import { createRoutine, deleteRoutine, findRoutine, fireRoutine, updateRoutine } from './index.ts';
import { triggeredRoutine } from './fire.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function scene(input: Partial<CreateRoutine> = {}) {
  const tx = database.db;
  const company = await createCompany(tx);
  const ada = await createAgent(tx, company, { name: 'Ada' });
  const user = await createUser(tx, { display_name: 'Uma' });
  const actor: Actor = actors.user(user, { [company.id]: 'member' });
  const routine = await transaction(database, async (inner) =>
    createRoutine(inner, actor, company.id, {
      name: 'Nightly',
      assignee_agent_id: ada.id,
      title_template: 'Check {{payload.what}}',
      body_template: 'All: {{payload}}',
      priority: 'high',
      ...input,
    }),
  );
  const fire = async (payload: unknown = { what: 'it' }, who: Actor = actor) =>
    transaction(database, async (inner) => fireRoutine(inner, who, routine, { payload }));
  const end = async (issue_id: string | null) =>
    transaction(database, async (inner) => {
      const issue = await findIssue(inner, issue_id ?? '');
      await updateIssue(inner, actor, issue!, { status: 'done' });
    });
  const runs = async () =>
    tx.select().from(schema.routine_runs).where(eq(schema.routine_runs.routine_id, routine.id));
  const issues = async () => tx.select().from(schema.issues).where(eq(schema.issues.company_id, company.id));
  return { company, ada, actor, routine, fire, end, runs, issues };
}

it('a trigger fires without rights of its own', () => {
  const stranger = triggeredRoutine({ name: 'Nightly' }, { kind: 'webhook', label: null });
  expect([isCompanyAdmin(stranger, newId()), isCompanyAdmin(actors.system, newId())]).toEqual([false, true]);
});

const wakeups = async (agent_id: string) =>
  database.db.select().from(schema.wakeup_requests).where(eq(schema.wakeup_requests.agent_id, agent_id));

const commentsOn = async (issue_id: string | null) =>
  database.db
    .select()
    .from(schema.comments)
    .where(eq(schema.comments.issue_id, issue_id ?? ''));

describe('a fire', () => {
  it('by a user makes an issue out of the templates, wakes the assignee and leaves a run', async () => {
    const { company, ada, routine, fire, issues } = await scene();
    const { status, run } = await fire({ what: 'the\nlogs' });
    expect({ status, run }).toMatchObject({
      status: 'enqueued',
      run: {
        routine_id: routine.id,
        source: 'manual',
        trigger_id: null,
        payload: { what: 'the\nlogs' },
        error: null,
      },
    });
    expect(await issues()).toEqual([
      expect.objectContaining({
        id: run.issue_id,
        title: 'Check the logs',
        body_markdown: 'All: {\n  "what": "the\\nlogs"\n}',
        status: 'todo',
        priority: 'high',
        assignee_agent_id: ada.id,
        origin_kind: 'routine',
        origin_id: run.id,
      }),
    ]);
    expect(await wakeups(ada.id)).toEqual([
      expect.objectContaining({ issue_id: run.issue_id, reason: 'assignment', company_id: company.id }),
    ]);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: ada.id })).toHaveLength(1);
    const after = await findRoutine(database.db, routine.id);
    expect(after?.last_fired_at).toEqual(run.created_at);
  });

  it('is in the activity and, for plugins, among the events, without its payload', async () => {
    const { company, routine, fire } = await scene();
    const { run } = await fire({ what: 'a secret' });
    const { rows: entries } = await database.pool.query(
      "select details from activity where company_id = $1 and action = 'routine.fired'",
      [company.id],
    );
    expect(entries).toEqual([
      {
        details: expect.objectContaining({
          name: 'Nightly',
          source: 'manual',
          status: 'enqueued',
          issue_id: run.issue_id,
        }),
      },
    ]);
    const { rows: events } = await database.pool.query<{ data: object }>(
      `select data from outbox where company_id = $1 and type = 'routine_fired'
       union all select data from events where company_id = $1 and type = 'routine_fired'`,
      [company.id],
    );
    expect(events).toEqual([
      {
        data: expect.objectContaining({
          id: run.id,
          routine_id: routine.id,
          routine_name: 'Nightly',
          status: 'enqueued',
        }),
      },
    ]);
    expect(JSON.stringify(events)).not.toContain('a secret');
  });

  it('of a template that comes to nothing is called as the routine is', async () => {
    const { fire, issues } = await scene({ title_template: '{{payload.missing}} ' });
    await fire();
    expect(await issues()).toEqual([expect.objectContaining({ title: 'Nightly' })]);
  });

  it.each(['paused', 'archived'] as const)('of a routine that is %s is refused', async (status) => {
    const { fire, runs } = await scene({ status });
    await expect(fire()).rejects.toThrow(`the routine is ${status}`);
    expect(await runs()).toEqual([]);
  });

  it('of a routine in the trash, or of a company there, finds nothing', async () => {
    const gone = await scene();
    await transaction(database, async (tx) =>
      deleteRoutine(tx, gone.actor, (await findRoutine(tx, gone.routine.id))!),
    );
    await expect(gone.fire()).rejects.toMatchObject({ kind: 'not_found' });
    const orphaned = await scene();
    await database.pool.query('update companies set deleted_at = now() where id = $1', [orphaned.company.id]);
    await expect(orphaned.fire()).rejects.toMatchObject({ kind: 'not_found' });
    expect(await findRoutine(database.db, orphaned.routine.id)).toBeUndefined();
  });

  it('whose assignee is of another company is refused, and nothing is left of it', async () => {
    const { routine, fire, runs, issues } = await scene();
    const stranger = await createAgent(database.db, await createCompany(database.db));
    await database.pool.query('update routines set assignee_agent_id = $2 where id = $1', [
      routine.id,
      stranger.id,
    ]);
    await expect(fire()).rejects.toThrow('assignee_agent_id: unknown agent');
    expect([await runs(), await issues()]).toEqual([[], []]);
  });

  it('by an agent lengthens its chain of causes and never wakes it', async () => {
    const { company, ada, fire } = await scene();
    const grace = await createAgent(database.db, company, { name: 'Grace' });
    const { run } = await fire(null, actors.agent(grace, { depth: 3 }));
    expect(run).toMatchObject({ source: 'agent', payload: null });
    expect(await wakeups(ada.id)).toEqual([expect.objectContaining({ depth: 4 })]);
    await fire(null, actors.agent(ada, { depth: 0 }));
    expect(await wakeups(ada.id)).toHaveLength(1);
  });

  it('by an agent that may not assign does not assign either', async () => {
    const { company, fire, runs } = await scene();
    const grace = await createAgent(database.db, company, { permissions: { 'issues.assign': false } });
    await expect(fire(null, actors.agent(grace))).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await runs()).toEqual([]);
  });
});

describe('while an issue of an earlier fire is open', () => {
  it('always_enqueue makes another', async () => {
    const { fire, issues } = await scene({ concurrency_policy: 'always_enqueue' });
    await fire();
    expect(await fire()).toMatchObject({ status: 'enqueued' });
    expect(await issues()).toHaveLength(2);
  });

  it('skip_if_active records the fire and does nothing, until that issue is over', async () => {
    const { fire, end, runs, issues } = await scene({ concurrency_policy: 'skip_if_active' });
    const first = await fire();
    expect(await fire()).toMatchObject({ status: 'skipped', run: { issue_id: null } });
    expect([(await runs()).length, (await issues()).length]).toEqual([2, 1]);
    expect(await commentsOn(first.run.issue_id)).toEqual([]);
    await end(first.run.issue_id);
    expect(await fire()).toMatchObject({ status: 'enqueued' });
  });

  it('coalesce_if_active, which is the default, adds the payload as a comment and wakes the assignee', async () => {
    const { ada, fire, end, routine } = await scene();
    expect(routine.concurrency_policy).toBe('coalesce_if_active');
    const first = await fire();
    await database.pool.query("update wakeup_requests set status = 'consumed' where agent_id = $1", [ada.id]);
    const second = await fire({ note: '@Ada\n/status done' });
    expect(second).toMatchObject({ status: 'coalesced', run: { issue_id: first.run.issue_id } });
    expect(await commentsOn(first.run.issue_id)).toEqual([
      expect.objectContaining({
        body_markdown:
          'The routine `Nightly` was fired again (manual):\n\n```\n{\n  "note": "@Ada\\n/status done"\n}\n```',
      }),
    ]);
    expect((await wakeups(ada.id)).filter(({ status }) => status === 'pending')).toEqual([
      // Not `mention`: text inside the fence mentions no one.
      expect.objectContaining({ issue_id: first.run.issue_id, reason: 'comment' }),
    ]);
    await end(first.run.issue_id);
    expect(await fire()).toMatchObject({ status: 'enqueued' });
  });

  it('an issue in the trash, or of another routine, is none', async () => {
    const { company, actor, fire } = await scene({ concurrency_policy: 'skip_if_active' });
    const other = await transaction(database, async (tx) =>
      createRoutine(tx, actor, company.id, { name: 'Other', concurrency_policy: 'skip_if_active' }),
    );
    const first = await fire();
    expect(await transaction(database, async (tx) => fireRoutine(tx, actor, other))).toMatchObject({
      status: 'enqueued',
    });
    await database.pool.query('update issues set deleted_at = now() where id = $1', [first.run.issue_id]);
    expect(await fire()).toMatchObject({ status: 'enqueued' });
  });

  it('a policy that changes counts from the next fire on', async () => {
    const { actor, routine, fire } = await scene({ concurrency_policy: 'always_enqueue' });
    await fire();
    const row = (await findRoutine(database.db, routine.id))!;
    await transaction(database, async (tx) =>
      updateRoutine(tx, actor, row, { concurrency_policy: 'skip_if_active' }),
    );
    expect(await fire()).toMatchObject({ status: 'skipped' });
  });
});

describe('twenty fires at once', () => {
  it.each([
    ['always_enqueue', { enqueued: 20 }, 20, 0],
    ['coalesce_if_active', { enqueued: 1, coalesced: 19 }, 1, 19],
    ['skip_if_active', { enqueued: 1, skipped: 19 }, 1, 0],
  ] as const)('of %s come to what one after the other would', async (policy, statuses, made, commented) => {
    const { fire, runs, issues } = await scene({ concurrency_policy: policy });
    await Promise.all(Array.from({ length: 20 }, async (_, n) => fire({ what: String(n) })));
    const all = await runs();
    const counted = Object.groupBy(all, ({ status }) => status);
    expect(Object.fromEntries(Object.entries(counted).map(([key, of]) => [key, of?.length]))).toEqual(
      statuses,
    );
    const issueRows = await issues();
    expect(issueRows).toHaveLength(made);
    expect(new Set(issueRows.map(({ issue_number }) => issue_number)).size).toBe(made);
    expect(await commentsOn(issueRows[0]!.id)).toHaveLength(commented);
  });
});
