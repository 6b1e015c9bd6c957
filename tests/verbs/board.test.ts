import { beforeAll, describe, expect, it } from '@jest/globals';
import { verbTable } from '@acp/contract';
import { findIssue } from '@acp/core';
import { schema } from '@acp/db';
import type { Database } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  queuedJobs,
  nextInstant,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { verbs } from '../../apps/scheduler/src/verbs/verbs.ts';
import { createScene, ok, refused, type Scene } from './scene.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const scene = async (permissions: Record<string, boolean> = {}): Promise<Scene> =>
  createScene(database, { permissions });

const issueNow = async (issue: { id: string }) => (await findIssue(database.db, issue.id))!;

const recorded = async ({ run }: Scene) => {
  const { rows } = await database.pool.query(
    'select ordinal, verb, args, mutating, ok, result, error from run_actions where run_id = $1 order by ordinal',
    [run.run_id],
  );
  return rows;
};

const commentsOn = async (issue: { id: string }) => {
  const { rows } = await database.pool.query<{ body_markdown: string }>(
    'select body_markdown from comments where issue_id = $1',
    [issue.id],
  );
  return rows.map(({ body_markdown: body }) => body);
};

describe('the verbs', () => {
  it('are those that the table marks as available', () => {
    const available = verbTable.filter((row) => row.available).map(({ name }) => name);
    expect([...verbs.keys()].toSorted()).toEqual(available.toSorted());
  });

  it('of an agent leave one row each, applied or refused, with the line as it was written', async () => {
    const set = await scene();
    await set.apply('/status in_review');
    await set.apply('/assign Nobody');
    await set.apply('/create_issue Write it down priority=low\n```\nAll of it.\n```');
    await set.apply('/await-subagents');
    expect(await recorded(set)).toEqual([
      expect.objectContaining({
        ordinal: 1,
        verb: 'status',
        args: { line: 'in_review' },
        mutating: true,
        ok: true,
      }),
      expect.objectContaining({ ordinal: 2, ok: false, error: 'there is no agent "Nobody"' }),
      expect.objectContaining({
        verb: 'create-issue',
        args: { line: 'Write it down priority=low', body: 'All of it.' },
        ok: true,
      }),
      expect.objectContaining({ ok: false, error: 'you have not spawned any sub-agents for this issue' }),
    ]);
  });

  it('of a run whose fence is lost change nothing and leave no row', async () => {
    const set = await scene();
    await database.pool.query('update heartbeat_runs set fence = fence + 1 where id = $1', [set.run.run_id]);
    await expect(set.apply('/status done')).rejects.toThrow('run lost');
    await expect(set.apply('/status done')).rejects.toThrow('run lost');
    expect(await issueNow(set.own)).toMatchObject({ status: 'todo' });
    expect(await recorded(set)).toEqual([]);
    expect(set.held.stopped).toBe('lost');
  });

  it('of an agent without the permission are refused', async () => {
    const set = await scene({ 'issues.update': false, 'issues.assign': false, 'issues.create': false });
    for (const line of [
      '/status done',
      '/priority low',
      `/blocks ${set.other.identifier}`,
      '/needs-routing',
      '/await-input',
    ])
      expect(await set.apply(line)).toEqual(refused('permission issues.update is off'));
    expect(await set.apply('/assign Ada')).toEqual(refused('permission issues.assign is off'));
    expect(await set.apply('/create-issue More')).toEqual(refused('permission issues.create is off'));
  });

  it.each([
    '/status done X',
    '/priority low X',
    '/assign Ada X',
    '/checkout X',
    '/release X',
    '/get-issue X',
  ])('of an agent do not reach another company: %s', async (line) => {
    const [set, foreign] = [await scene(), await scene()];
    const result = await set.apply(line.replace('X', foreign.own.id));
    expect(result).toEqual(refused(`there is no issue ${foreign.own.id}`));
    expect(await issueNow(foreign.own)).toMatchObject({ status: 'todo', priority: 'medium' });
  });

  it.each(['/blocks X', '/blocked-by X', '/relates X', '/create-issue Part parent=X'])(
    'of an agent relate nothing to another company: %s',
    async (line) => {
      const [set, foreign] = [await scene(), await scene()];
      const result = await set.apply(line.replace('X', foreign.own.id));
      expect(result).toEqual(refused(`there is no issue ${foreign.own.id}`));
    },
  );

  it('of an agent name no agent of another company', async () => {
    const [set, foreign] = [await scene(), await scene()];
    expect(await set.apply(`/assign ${foreign.ada.id}`)).toEqual(
      refused(`there is no agent "${foreign.ada.id}"`),
    );
    expect(await set.apply(`/create-issue It assignee=${foreign.ada.id}`)).toEqual(
      refused(`there is no agent "${foreign.ada.id}"`),
    );
    expect(await set.apply(`/list-issues assignee=${foreign.ada.id}`)).toEqual(
      refused(`there is no agent "${foreign.ada.id}"`),
    );
  });
});

describe('a verb', () => {
  it('status and priority set the field of the run’s issue, or of the named one', async () => {
    const set = await scene();
    expect(await set.apply('/status in-review')).toEqual(ok(`${set.own.identifier}: status in_review`));
    expect(await set.apply(`/status todo ${set.other.identifier.toLowerCase()}`)).toMatchObject({ ok: true });
    expect(await set.apply(`/priority Critical ${set.other.id}`)).toMatchObject({ ok: true });
    expect(await issueNow(set.own)).toMatchObject({ status: 'in_review' });
    expect(await issueNow(set.other)).toMatchObject({ status: 'todo', priority: 'critical' });
    expect(await set.apply('/status in_review')).toEqual(
      ok(`${set.own.identifier}: already status in_review`, false),
    );
    expect(await set.apply('/status finished')).toMatchObject({
      ok: false,
      error: expect.stringContaining('backlog, todo, in_progress'),
    });
    expect(await set.apply('/status')).toEqual(refused('an argument is missing'));
    expect(await set.apply('/priority low ABC-1 now')).toEqual(refused('too many arguments: now'));
    expect(await set.apply('/priority low ABC-999')).toEqual(refused('there is no issue ABC-999'));
  });

  it('name the issue by its key as well, and refuse a key that they do not have', async () => {
    const set = await scene();
    const { identifier } = set.other;
    for (const line of [
      `/status done issue=${identifier}`,
      `/priority issue=${identifier} priority=low`,
      `/assign Grace Hopper issue="${identifier}"`,
      `/checkout issue=${identifier}`,
      `/await-input issue=${identifier} Which colour?`,
    ])
      expect([line, await set.apply(line)]).toEqual([line, expect.objectContaining({ ok: true })]);
    expect(await issueNow(set.other)).toMatchObject({
      status: 'blocked',
      priority: 'low',
      assignee_agent_id: set.grace.id,
      awaiting_input: true,
    });
    expect(await issueNow(set.own)).toMatchObject({ status: 'todo', awaiting_input: false });
    expect((await set.apply(`/get-issue issue=${identifier}`)).result).toContain(identifier);
    expect(await set.apply('/status done task=ABC-1')).toEqual(refused('/status takes no task='));
    expect(await set.apply('/list-issues bogus=1')).toEqual(refused('/list-issues takes no bogus='));
  });

  it.each([
    ['/status done.', { status: 'done' }],
    ['/status **in_review**', { status: 'in_review' }],
    ['/priority `high`', { priority: 'high' }],
    ['/status "in review"', { status: 'in_review' }],
  ])('read %s as it is meant', async (line, change) => {
    const set = await scene();
    expect(await set.apply(line)).toMatchObject({ ok: true });
    expect(await issueNow(set.own)).toMatchObject(change);
  });

  it.each(['@"Grace Hopper"', '@Grace-Hopper', 'Grace Hopper.', 'agent="Grace Hopper"'])(
    'assign takes %s for an agent as a mention does',
    async (written) => {
      const set = await scene();
      await set.apply(`/assign ${written} ${set.other.identifier},`);
      expect(await issueNow(set.other)).toMatchObject({ assignee_agent_id: set.grace.id });
    },
  );

  it('assign gives the issue to an agent by name or id and wakes it, with a longer chain of causes', async () => {
    const set = await scene();
    expect(await set.apply(`/assign Grace Hopper ${set.other.identifier}`)).toEqual(
      ok(`${set.other.identifier}: assigned to Grace Hopper`),
    );
    expect(await set.apply('/assign "grace hopper"')).toMatchObject({ ok: true });
    expect(await issueNow(set.own)).toMatchObject({ assignee_agent_id: set.grace.id });
    expect(await set.apply(`/assign ${set.ada.id}`)).toMatchObject({ ok: true });
    const wakeups = await database.pool.query(
      'select agent_id, issue_id, reason, depth, cause_run_id from wakeup_requests where company_id = $1',
      [set.company.id],
    );
    // There is nothing to do in the backlog yet, and no agent wakes itself.
    expect(wakeups.rows).toEqual([
      {
        agent_id: set.grace.id,
        issue_id: set.own.id,
        reason: 'assignment',
        depth: 3,
        cause_run_id: set.run.run_id,
      },
    ]);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: set.grace.id })).toHaveLength(1);
    await createAgent(database.db, set.company, { name: 'Grace Hopper' });
    expect(await set.apply('/assign "Grace Hopper"')).toEqual(
      refused('several agents are called "Grace Hopper": use the id'),
    );
    expect(await set.apply('/assign')).toEqual(refused('an agent is missing'));
  });

  it('checkout takes a free issue, and release gives it back', async () => {
    const set = await scene();
    const { identifier } = set.other;
    expect(await set.apply(`/checkout ${identifier}`)).toEqual(ok(`${identifier}: checked out`, false));
    expect(await issueNow(set.other)).toMatchObject({ checked_out_by_agent_id: set.ada.id });
    expect(await set.apply('/checkout')).toEqual(ok(`${set.own.identifier}: already yours`, false));
    expect(await set.apply(`/release ${identifier}`)).toEqual(ok(`${identifier}: released`, false));
    expect(await set.apply(`/release ${identifier}`)).toEqual(
      refused('only the holder can release an issue'),
    );
    const theirs = await createIssue(database.db, set.company, { checked_out_by_agent_id: set.grace.id });
    expect(await set.apply(`/checkout ${theirs.identifier}`)).toEqual(refused('already checked out'));
  });

  it('create-issue makes an issue with what is named, and says its identifier', async () => {
    const set = await scene();
    const { result } = await set.apply(
      `/create-issue "Find a = b" priority=HIGH assignee="Grace Hopper" parent=${set.own.identifier}\n\n~~~md\nBody\n~~~`,
    );
    expect(result).toMatch(/^[A-Z]+-3 created, assigned to Grace Hopper$/);
    const { rows } = await database.pool.query('select * from issues where parent_issue_id = $1', [
      set.own.id,
    ]);
    expect(rows).toMatchObject([
      {
        title: 'Find a = b',
        body_markdown: 'Body',
        priority: 'high',
        status: 'todo',
        assignee_agent_id: set.grace.id,
        created_by_agent_id: set.ada.id,
      },
    ]);
    expect(await set.apply('/create-issue priority=low')).toEqual(refused('a title is missing'));
    expect(await set.apply('/create-issue X priority=urgent')).toMatchObject({ ok: false });
    expect(await set.apply(`/create-issue ${'x'.repeat(600)}`)).toMatchObject({ ok: false });
    expect(await set.apply(`/create-issue X project=${newId()}`)).toMatchObject({ ok: false });
  });

  it('create-issue and list-issues name a project of the company by its name or id', async () => {
    const set = await scene();
    const theirs = await createCompany(database.db);
    const [garden, foreign] = await database.db
      .insert(schema.projects)
      .values([
        { company_id: set.company.id, name: 'The Garden' },
        { company_id: theirs.id, name: 'Theirs' },
      ])
      .returning();
    expect(await set.apply('/create-issue Rake project="the garden"')).toMatchObject({ ok: true });
    await nextInstant();
    expect(await set.apply(`/create-issue Mow project=${garden!.id}`)).toMatchObject({ ok: true });
    const listed = await set.apply('/list-issues project="The Garden"');
    expect(listed.result?.split('\n').map((line) => line.split(' ').at(-1))).toEqual(['Mow', 'Rake']);
    for (const word of ['Theirs', foreign!.id])
      expect(await set.apply(`/create-issue X project=${word}`)).toEqual(
        refused(expect.stringContaining('no project')),
      );
  });

  it('blocks, blocked-by and relates relate the run’s issue to another one, without cycles', async () => {
    const set = await scene();
    const [a, b] = [set.own.identifier, set.other.identifier];
    expect(await set.apply(`/blocks ${b}`)).toEqual(ok(`${a} blocks ${b}`));
    expect(await set.apply(`/relates-to ${b}`)).toEqual(ok(`${a} relates_to ${b}`));
    expect(await set.apply(`/relates-to ${b}`)).toEqual(ok(`${a} relates_to ${b} already`, false));
    expect(await set.apply(`/blocked_by ${b}`)).toMatchObject({ ok: false });
    expect(await set.apply(`/blocks ${a}`)).toMatchObject({ ok: false });
    expect(await set.apply('/blocks')).toEqual(refused('an argument is missing'));
    const third = await createIssue(database.db, set.company);
    expect(await set.apply(`/blocked-by ${third.identifier}`)).toEqual(ok(`${third.identifier} blocks ${a}`));
  });

  it('needs-routing and await-input set the flag, with the text as a comment', async () => {
    const set = await scene();
    expect(await set.apply('/needs-routing A lawyer should see this')).toEqual(
      ok(`${set.own.identifier}: needs routing`),
    );
    expect(await issueNow(set.own)).toMatchObject({ needs_routing: true, status: 'todo' });
    expect(await set.apply('/await-input Which colour?')).toEqual(
      ok(`${set.own.identifier}: waits for input`),
    );
    expect(await issueNow(set.own)).toMatchObject({
      awaiting_input: true,
      status: 'blocked',
      blocked_reason: 'Which colour?',
    });
    expect(await set.apply('/await-input')).toMatchObject({ ok: true, changed: false });
    expect((await commentsOn(set.own)).toSorted()).toEqual(['A lawyer should see this', 'Which colour?']);
  });

  it('get-issue and list-issues answer within the company', async () => {
    const [set, foreign] = [await scene(), await scene()];
    const one = await set.apply(`/get-issue ${set.other.identifier}`);
    expect(one.result).toContain(`${set.other.identifier}: Other work\nStatus: backlog`);
    const all = await set.apply('/list-issues');
    // Possibly created in the same millisecond: their order is then undefined.
    expect(new Set(all.result!.split('\n'))).toEqual(
      new Set([
        `${set.other.identifier} [backlog, medium, unassigned] Other work`,
        `${set.own.identifier} [todo, medium, yours] Own work`,
      ]),
    );
    expect(all.result).not.toContain(foreign.own.id);
    expect((await set.apply('/list-issues status=todo,done assignee=Ada limit=5')).result).toContain(
      'Own work',
    );
    expect((await set.apply('/list-issues priority=critical')).result).toBe('no issues');
    // The filter must be part of the statement: applied to a page of one, the newest issue would leave nothing.
    const { id: old } = set.own;
    await database.pool.query(
      `update issues set priority = 'high', created_at = created_at - interval '1 day' where id = $1`,
      [old],
    );
    expect((await set.apply('/list-issues priority=high limit=1')).result).toContain('Own work');
    expect((await set.apply('/list-issues priority=urgent')).error).toMatch(/priority/);
    expect((await set.apply('/list-issues q=other')).result).toContain('Other work');
    expect(await set.apply('/list-issues status=lost')).toMatchObject({ ok: false });
    expect(await set.apply('/list-issues limit=0')).toEqual(
      refused('limit must be a whole number from 1 up'),
    );
    expect((await recorded(set)).every(({ mutating }) => mutating === false)).toBe(true);
  });
});

describe('the verbs of routines', () => {
  it('fire one by its name, with the agent as the cause', async () => {
    const set = await scene();
    const tx = database.db;
    const [routine] = await tx
      .insert(schema.routines)
      .values({
        company_id: set.company.id,
        name: 'Nightly build',
        title_template: 'Build',
        concurrency_policy: 'skip_if_active',
      })
      .returning();
    expect(await set.apply('/fire-routine nightly BUILD')).toEqual(
      ok(expect.stringMatching(/^Nightly build: enqueued, [A-Z]+-\d+$/)),
    );
    expect(await set.apply('/fire_routine "Nightly build"')).toEqual(
      ok(expect.stringMatching(/^Nightly build: skipped, /), false),
    );
    expect(await set.apply('/fire-routine Weekly build')).toEqual(
      refused('there is no routine "Weekly build"'),
    );
    expect(await set.apply('/fire-routine')).toEqual(refused('the name of a routine is missing'));
    const runs = await tx
      .select()
      .from(schema.routine_runs)
      .where(eq(schema.routine_runs.routine_id, routine!.id))
      .orderBy(schema.routine_runs.created_at);
    expect(runs.map(({ source, status }) => [source, status])).toEqual([
      ['agent', 'enqueued'],
      ['agent', 'skipped'],
    ]);
  });

  it('make one of the run’s issue', async () => {
    const set = await scene();
    expect(await set.apply('/promote-routine 0 9 * * 1')).toEqual(
      ok(expect.stringMatching(/^routine Own work created, next at .*T09:00:00\.000Z$/)),
    );
    expect(await set.apply('/promote-routine every monday')).toEqual(
      refused('cron_expression: five fields are required'),
    );
    expect(await set.apply('/promote-routine')).toEqual(refused('a cron expression is missing'));
  });

  it('of an agent that may not manage routines are refused', async () => {
    const set = await scene({ 'routines.manage': false });
    for (const line of ['/fire-routine Any', '/promote-routine 0 9 * * 1'])
      expect(await set.apply(line)).toEqual(refused('permission routines.manage is off'));
  });
});
