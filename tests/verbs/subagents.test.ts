/** Sub-agents: what agents may spawn, how trees end, and who is woken; the tests run the jobs themselves. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  createBudgetPolicy,
  deleteAgent,
  deleteIssue,
  findAgent,
  findIssue,
  listSubagents,
  expiredHomes,
  pauseAgent,
  promptFacts,
  purgeExpiredSubagent,
  reportCost,
  requestWakeups,
  resumeAgent,
  settleAgent,
  settleIssue,
  settleSubagents,
  sweepSubagents,
  updateIssue,
  updatePermissions,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, databaseWithQueue, nextInstant, pendingWakeups, queuedJobs } from '@acp/testkit';
import { buildPrompt } from '../../apps/scheduler/src/execution/kinds/heartbeat/prompt.ts';
import { createScene, fenced, ok, refused, rowsOf, type Scene } from './scene.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

type Options = NonNullable<Parameters<typeof createScene>[1]>;
const scene = async (options: Options = {}): Promise<Scene> => createScene(database, options);
const write = async <T>(work: Parameters<typeof transaction<T>>[1]): Promise<T> =>
  transaction(database, work);
const human = (set: Scene) =>
  actors.user({ id: newId(), display_name: 'Olga' }, { [set.company.id]: 'admin' });

const spawn = async (set: Scene, title = 'Look around', role = 'researcher') => {
  // The trees of sub-agents are checked in the order they were spawned.
  await nextInstant();
  expect(await set.apply(fenced(`/spawn-subagent ${role} ${title}`, 'Look everywhere.'))).toEqual(
    ok(expect.stringContaining(' works on ')),
  );
  return (await listed(set)).findLast(({ issue_title }) => issue_title === title)!;
};
const listed = async ({ ada }: Scene) => listSubagents(database.db, { agent_id: ada.id });
const settle = async ({ ada }: Scene) => write(async (tx) => settleSubagents(tx, ada.id));
const statusOf = async (agent_id: string) => (await findAgent(database.db, agent_id))?.status;
const issueNow = async (id: string) => (await findIssue(database.db, id))!;

interface Child {
  agent_id: string;
  issue_id: string;
}

/** A finished run of the sub-agent: wakeups answered, prose posted. */
async function ran(
  set: Scene,
  { agent_id, issue_id }: Child,
  end: { status?: string; said?: string; error?: string; category?: string } = {},
): Promise<void> {
  const { status = 'succeeded', said, error = null, category = null } = end;
  const sql = async (text: string, ...values: unknown[]) => rowsOf(database, text, ...values);
  await sql(`update wakeup_requests set status = 'consumed' where agent_id = $1`, agent_id);
  await sql(
    `insert into heartbeat_runs (company_id, agent_id, issue_id, status, wake_reason, adapter_type, error, error_category, finished_at, created_at)
     values ($1, $2, $3, $4, 'assignment', 'llm', $5, $6, now(), clock_timestamp())`,
    set.company.id,
    agent_id,
    issue_id,
    status,
    error,
    category,
  );
  if (said !== undefined)
    await sql(
      'insert into comments (issue_id, company_id, author_agent_id, body_markdown) values ($1, $2, $3, $4)',
      issue_id,
      set.company.id,
      agent_id,
      said,
    );
}

/** The scene of a sub-agent working on its issue, instead of its parent's. */
async function sceneOf(set: Scene, child: Child): Promise<Scene> {
  const agent = (await findAgent(database.db, child.agent_id))!;
  const below = await createScene(database);
  const actor = {
    ...actors.agent(agent, { run_id: below.run.run_id, depth: 3 }),
    permissions: agent.permissions,
  };
  Object.assign(below.run, {
    agent_id: agent.id,
    company_id: agent.company_id,
    issue_id: child.issue_id,
    subject_id: child.issue_id,
    actor,
  });
  return { ...below, company: set.company, ada: agent };
}

describe('an agent that spawns a sub-agent', () => {
  it('gets one below itself with its own adapter and rights, at work on an issue below its own', async () => {
    const set = await scene({ permissions: { 'notes.write': false } });
    const child = await spawn(set, 'Survey the market');
    const agent = (await findAgent(database.db, child.agent_id))!;
    expect(agent).toMatchObject({
      name: 'Ada / researcher 1',
      role: 'researcher',
      parent_agent_id: set.ada.id,
      reports_to: set.ada.id,
      subagent_depth: 1,
      spawn_reason: 'Survey the market',
      heartbeat_enabled: false,
      permissions: { 'notes.write': false },
    });
    expect(await issueNow(child.issue_id)).toMatchObject({
      title: 'Survey the market',
      body_markdown: 'Look everywhere.',
      parent_issue_id: set.own.id,
      assignee_agent_id: agent.id,
      origin_kind: 'subagent',
    });
    expect(await pendingWakeups(database.db, agent.id)).toMatchObject([{ reason: 'assignment', depth: 3 }]);
    expect(await listSubagents(database.db, { issue_id: set.own.id })).toEqual(await listed(set));
  });

  it('is refused without a role, a body, the rights, or an issue', async () => {
    const set = await scene();
    expect(await set.apply(fenced('/spawn-subagent wizard Do magic', 'x'))).toEqual(
      refused(expect.stringContaining('wizard is not a role: begin with one of ceo')),
    );
    expect(await set.apply(fenced('/spawn-subagent qa', 'x'))).toEqual(refused('a title is missing'));
    expect(await set.apply('/spawn-subagent qa Test it')).toEqual(refused('a fenced body is missing'));
    for (const right of ['subagents.spawn', 'issues.create', 'issues.assign']) {
      const bound = await scene({ permissions: { [right]: false } });
      expect(await bound.apply(fenced('/spawn-subagent qa Test it', 'x'))).toEqual(
        refused(`permission ${right} is off`),
      );
      expect(await listed(bound)).toEqual([]);
    }
    Object.assign(set.run, { issue_id: null });
    expect(await set.apply(fenced('/spawn-subagent qa Test it', 'x'))).toEqual(
      refused('this run has no issue: name one'),
    );
  });

  it('can not hand on a configuration with secrets that is not its own to give', async () => {
    const set = await scene();
    await rowsOf(
      database,
      `update agents set adapter_config = '{"api_key": "\${secret:KEY}", "allow_dangerous_permissions": true}' where id = $1`,
      set.ada.id,
    );
    expect(await set.apply(fenced('/spawn-subagent qa Test it', 'x'))).toEqual(
      refused(expect.stringContaining('secrets')),
    );
    await rowsOf(
      database,
      `update agents set adapter_config = '{"allow_dangerous_permissions": true}' where id = $1`,
      set.ada.id,
    );
    const child = await spawn(set);
    expect((await findAgent(database.db, child.agent_id))!.adapter_config).toEqual({});
  });

  it('has ten living ones at most, three levels deep, and none while it is paused', async () => {
    const set = await scene();
    const children = [];
    for (let n = 1; n <= 10; n += 1) children.push(await spawn(set, `Part ${n}`));
    expect(await set.apply(fenced('/spawn-subagent qa One more', 'x'))).toEqual(
      refused(expect.stringContaining('10 of your sub-agents are still running')),
    );
    await ran(set, children[0]!);
    await settle(set);
    await spawn(set, 'One more');
    const second = await sceneOf(set, children[1]!);
    const third = await sceneOf(second, await spawn(second, 'Second level'));
    const fourth = await sceneOf(third, await spawn(third, 'Third level'));
    expect(await fourth.apply(fenced('/spawn-subagent qa Fourth level', 'x'))).toEqual(
      refused('sub-agents may be 3 levels deep: you are on the last one'),
    );
    const tree = (await listed(set)).map(({ depth }) => depth);
    expect(tree.slice(1, 4)).toEqual([1, 2, 3]);
    await rowsOf(database, `update agents set status = 'paused' where id = $1`, set.ada.id);
    expect(await set.apply(fenced('/spawn-subagent qa Later', 'x'))).toEqual(refused('you are paused'));
  });
});

it('a tree has a hundred sub-agents at most, whoever in it spawns them', async () => {
  const set = await scene();
  const child = await spawn(set, 'First');
  await rowsOf(
    database,
    `with more as (
       insert into agents select (jsonb_populate_record(null::agents, to_jsonb(a)
         || jsonb_build_object('id', gen_random_uuid(), 'name', 'Part ' || n))).*
       from agents a, generate_series(1, 98) n where a.id = $1 returning id
     )
     insert into subagents (agent_id, company_id, root_agent_id, parent_agent_id, parent_issue_id, issue_id)
     select more.id, company_id, root_agent_id, agent_id, issue_id, gen_random_uuid() from more, subagents where agent_id = $1`,
    child.agent_id,
  );
  await spawn(set, 'The hundredth');
  expect(await set.apply(fenced('/spawn-subagent qa One more', 'x'))).toEqual(
    refused(expect.stringContaining('100 sub-agents are running below the same agent')),
  );
});

describe('an agent that waits for its sub-agents', () => {
  it('is woken once, when the last has ended, with what all of them came to', async () => {
    const set = await scene();
    expect(await set.apply('/await-subagents')).toEqual(
      refused('you have not spawned any sub-agents for this issue'),
    );
    const [good, bad, dead, off] = [
      await spawn(set, 'Good'),
      await spawn(set, 'Bad'),
      await spawn(set, 'Dead'),
      await spawn(set, 'Off'),
    ];
    expect(await set.apply('/await-subagents')).toEqual(ok(expect.stringContaining('4 sub-agents')));
    expect(await issueNow(set.own.id)).toMatchObject({
      status: 'blocked',
      blocked_reason: 'waits for sub-agents',
    });
    await ran(set, good, { said: 'The answer is 42.' });
    await ran(set, bad, { status: 'failed', error: 'the model is gone', category: 'permanent' });
    await settle(set);
    await write(async (tx) => deleteAgent(tx, human(set), (await findAgent(tx, dead.agent_id))!));
    await write(async (tx) => settleAgent(tx, dead.agent_id));
    expect(await queuedJobs(database.db, 'settle-subagents', { agent_id: set.ada.id })).not.toEqual([]);
    await settle(set);
    // One is still active; a human closes its issue, which would release a parent that waits for no other.
    expect(await pendingWakeups(database.db, set.ada.id)).toEqual([]);
    await write(async (tx) =>
      updateIssue(tx, human(set), await issueNow(off.issue_id), { status: 'cancelled' }),
    );
    expect(await issueNow(set.own.id)).toMatchObject({ status: 'blocked' });
    expect(await pendingWakeups(database.db, set.ada.id)).toEqual([]);
    await Promise.all([settle(set), settle(set), settle(set)]);
    expect(await issueNow(set.own.id)).toMatchObject({ status: 'todo', blocked_reason: null });
    expect(await pendingWakeups(database.db, set.ada.id)).toMatchObject([
      { reason: 'subagent', depth: 3, issue_id: set.own.id },
    ]);
    const all = await listed(set);
    expect(all.map(({ outcome }) => outcome)).toEqual(['done', 'failed', 'deleted', 'cancelled']);
    expect(all.every(({ status }) => status === 'terminated' || status === 'idle')).toBe(true);
    expect(await issueNow(good.issue_id)).toMatchObject({ status: 'done' });
    expect(await issueNow(bad.issue_id)).toMatchObject({ status: 'cancelled' });
    await rowsOf(database, `update wakeup_requests set status = 'consumed' where agent_id = $1`, set.ada.id);
    await settle(set);
    expect(await pendingWakeups(database.db, set.ada.id)).toEqual([]);

    const facts = (await promptFacts(database.db, set.run))!;
    const { user_message: prompt } = buildPrompt(facts);
    expect(prompt).toContain('# Your sub-agents\nAll have ended.');
    expect(prompt).toContain('The answer is 42.');
    expect(prompt).toContain('the model is gone');
    await rowsOf(database, 'update heartbeat_runs set started_at = now() where id = $1', set.run.run_id);
    expect(await set.apply('/await-subagents')).toEqual(
      refused('all of them have already ended: their results are in your prompt'),
    );
  });

  it('is woken only after those below them where it waits recursively', async () => {
    const set = await scene();
    const child = await spawn(set, 'First level');
    const below = await sceneOf(set, child);
    const grandchild = await spawn(below, 'Second level');
    await set.apply('/await-subagents-recursive');
    await ran(set, child, { said: 'Mine is done.' });
    await settle(set);
    expect((await listed(set)).map(({ outcome }) => outcome)).toEqual(['done', null]);
    expect(await pendingWakeups(database.db, set.ada.id)).toEqual([]);
    await ran(set, grandchild);
    await settle(set);
    expect(await pendingWakeups(database.db, set.ada.id)).toHaveLength(1);
  });

  it('tells its sub-agent that it is one, and the sub-agent works on while it is woken, waits or asks', async () => {
    const set = await scene();
    const child = await spawn(set);
    const below = await sceneOf(set, child);
    const { system_prompt } = buildPrompt((await promptFacts(database.db, below.run))!);
    expect(system_prompt).toContain(
      '# You are a sub-agent\nAda has spawned you for this one issue (level 1 of 3)',
    );
    await settle(set);
    expect(await statusOf(child.agent_id)).toBe('idle');
    await ran(set, child);
    const comment = { company_id: set.company.id, agent_id: child.agent_id, issue_id: child.issue_id };
    await write(async (tx) => requestWakeups(tx, human(set), [{ ...comment, reason: 'comment' }]));
    await settle(set);
    expect(await statusOf(child.agent_id)).toBe('idle');
    await ran(set, child);
    await rowsOf(database, `update issues set status = 'blocked' where id = $1`, child.issue_id);
    await settle(set);
    expect(await statusOf(child.agent_id)).toBe('idle');
    // A scheduler died during its run, with verbs applied: it continues, at most three times.
    await rowsOf(database, `update issues set status = 'todo' where id = $1`, child.issue_id);
    for (let lost = 1; lost <= 2; lost += 1) {
      await ran(set, child, { status: 'failed', category: 'lost', error: 'run lost: scheduler stopped' });
      await settle(set);
      expect(await pendingWakeups(database.db, child.agent_id)).toMatchObject([{ reason: 'subagent' }]);
    }
    await ran(set, child, { status: 'failed', category: 'lost', error: 'run lost: scheduler stopped' });
    await settle(set);
    expect(await listed(set)).toMatchObject([{ outcome: 'failed', status: 'terminated' }]);
  });
});

describe('a tree of sub-agents', () => {
  it('is called off with its issue or its root, whatever runs', async () => {
    for (const end of ['cancelled', 'trashed', 'root deleted'] as const) {
      const set = await scene();
      const child = await spawn(set, 'First level');
      await spawn(await sceneOf(set, child), 'Second level');
      await set.apply('/await-subagents');
      await write(async (tx) => {
        const own = (await findIssue(tx, set.own.id))!;
        if (end === 'cancelled') await updateIssue(tx, human(set), own, { status: 'cancelled' });
        if (end === 'trashed') await deleteIssue(tx, human(set), own);
        if (end === 'root deleted') await deleteAgent(tx, human(set), (await findAgent(tx, set.ada.id))!);
      });
      if (end === 'trashed') await write(async (tx) => settleIssue(tx, set.own.id));
      if (end === 'root deleted') await write(async (tx) => settleAgent(tx, set.ada.id));
      expect(await queuedJobs(database.db, 'settle-subagents', { agent_id: set.ada.id })).not.toEqual([]);
      await settle(set);
      const rows = await rowsOf(
        database,
        `select s.outcome, a.status from subagents s join agents a on a.id = s.agent_id where s.root_agent_id = $1`,
        set.ada.id,
      );
      expect(rows).toHaveLength(2);
      expect(rows.every(({ status, outcome }) => status === 'terminated' && outcome !== null)).toBe(true);
      expect(await rowsOf(database, 'select 1 from subagent_waits where agent_id = $1', set.ada.id)).toEqual(
        [],
      );
      expect(await pendingWakeups(database.db, set.ada.id)).toEqual([]);
    }
  });

  it('rests while its root is paused, and has no right that the root loses', async () => {
    const set = await scene();
    const child = await spawn(set, 'First level');
    const { agent_id: grandchild } = await spawn(await sceneOf(set, child), 'Second level');
    const root = (await findAgent(database.db, set.ada.id))!;
    await write(async (tx) => pauseAgent(tx, human(set), root));
    expect([await statusOf(child.agent_id), await statusOf(grandchild)]).toEqual(['paused', 'paused']);
    const below = (await findAgent(database.db, child.agent_id))!;
    await expect(write(async (tx) => resumeAgent(tx, human(set), below))).rejects.toThrow('is paused: Ada');
    await write(async (tx) => resumeAgent(tx, human(set), root));
    expect([await statusOf(child.agent_id), await statusOf(grandchild)]).toEqual(['idle', 'idle']);
    await write(async (tx) => updatePermissions(tx, human(set), root, { 'files.write': false }));
    expect((await findAgent(database.db, grandchild))!.permissions).toMatchObject({ 'files.write': false });
    await expect(
      write(async (tx) => updatePermissions(tx, human(set), below, { 'files.write': true })),
    ).rejects.toThrow('has no permission files.write');
  });

  it('spends from the budget of its root', async () => {
    const set = await scene();
    const child = await spawn(await sceneOf(set, await spawn(set, 'First level')), 'Second level');
    const policy = { scope_type: 'agent', scope_id: set.ada.id, window: 'lifetime', limit_usd: 1 } as const;
    await write(async (tx) =>
      createBudgetPolicy(tx, human(set), set.company.id, { ...policy, action: 'pause' }),
    );
    const cost = { agent_id: child.agent_id, provider: 'x', model: 'x', cost_usd: 2 };
    await write(async (tx) => reportCost(tx, human(set), set.company.id, cost));
    const spent = await rowsOf(
      database,
      `select w.spent_usd::float8 as spent, i.kind from budget_policies p join budget_windows w on w.policy_id = p.id
       join budget_incidents i on i.policy_id = p.id and i.kind = 'breach' where p.scope_id = $1`,
      set.ada.id,
    );
    expect(spent).toEqual([{ spent: 2, kind: 'breach' }]);
    // The window is recomputed from the cost events.
    await rowsOf(database, 'delete from budget_windows where true');
    await write(async (tx) => reportCost(tx, human(set), set.company.id, { ...cost, cost_usd: 1 }));
    expect(
      await rowsOf(
        database,
        'select w.spent_usd::float8 as spent from budget_windows w join budget_policies p on p.id = w.policy_id where p.scope_id = $1',
        set.ada.id,
      ),
    ).toEqual([{ spent: 3 }]);
  });

  it('is settled by the sweep where its job was lost, and is forgotten when it has been over for long', async () => {
    const set = await scene();
    const child = await spawn(set);
    await ran(set, child);
    await rowsOf(
      database,
      `update subagents set created_at = now() - interval '1 hour' where agent_id = $1`,
      child.agent_id,
    );
    await rowsOf(database, `delete from pgboss.job where name = 'settle-subagents'`);
    await write(async (tx) => sweepSubagents(tx));
    expect(await queuedJobs(database.db, 'settle-subagents', { agent_id: set.ada.id })).toHaveLength(1);
    await settle(set);
    expect(await statusOf(child.agent_id)).toBe('terminated');
    expect(await queuedJobs(database.db, 'settle-agent', { agent_id: child.agent_id })).toHaveLength(1);
    await rowsOf(
      database,
      `update subagents set ended_at = now() - interval '31 days' where agent_id = $1`,
      child.agent_id,
    );
    const homes = await expiredHomes(database.db, null, 500);
    expect(homes.map(({ agent_id }) => agent_id)).toContain(child.agent_id);
    expect(await write(async (tx) => purgeExpiredSubagent(tx, 30))).toBe(true);
    expect(await write(async (tx) => purgeExpiredSubagent(tx, 30))).toBe(false);
    expect(await findAgent(database.db, child.agent_id)).toBeUndefined();
    expect(await rowsOf(database, 'select 1 from subagents where agent_id = $1', child.agent_id)).toEqual([]);
    expect(await issueNow(child.issue_id)).toMatchObject({ status: 'done', assignee_agent_id: null });
  });
});
