import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  nextInstant,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  claimRun,
  dispatchAgent,
  finishRun,
  invokeAgent,
  promptFacts,
  recordAction,
  requestWakeups,
  sweepLostRun,
  triggerIssue,
} from '../index.ts';

const { comments, goals, heartbeat_runs, issue_labels, issue_relations, issues, labels, projects } = schema;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('prompt'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.execute(sql`delete from heartbeat_runs`);
});

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const claim = async () =>
  (await transaction(database, async (tx) => claimRun(tx, { claimed_by: 'scheduler', lease_sec: 30 })))!;
const factsOf = async (run: Awaited<ReturnType<typeof claim>>) => (await promptFacts(database.db, run))!;
const verb = (ordinal: number, changes = {}) => ({
  ordinal,
  verb: 'status',
  args: { status: 'done' },
  mutating: true,
  ok: true,
  ...changes,
});

async function runOn() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
  const start = async () => {
    await transaction(database, async (tx) => triggerIssue(tx, human, issue));
    return claim();
  };
  return { agent, issue, start };
}
const lose = async () => {
  await database.db.execute(sql`update heartbeat_runs set lease_expires_at = now() - interval '1 second'
    where status = 'running'`);
  await transaction(database, async (tx) => sweepLostRun(tx));
};

async function insertGoal(company_id: string, title: string, parent_goal_id: string | null = null) {
  const [goal] = await database.db.insert(goals).values({ company_id, title, parent_goal_id }).returning();
  return goal!;
}

describe('the facts for a prompt', () => {
  it('of a run without an issue are agent, company, and nothing else', async () => {
    const company = await createCompany(database.db, { name: 'Acme' });
    const agent = await createAgent(database.db, company, { name: 'Ada', model: 'small' });
    await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    expect(await factsOf(await claim())).toEqual({
      agent: expect.objectContaining({ id: agent.id, name: 'Ada', role: 'engineer', model: 'small' }),
      manager: null,
      company: { id: company.id, name: 'Acme' },
      has_knowledge: false,
      has_index: false,
      goals: [],
      project: null,
      issue: null,
      wakeups: [],
      applied_by_interrupted: [],
      failed_in_previous_run: [],
      skills: [],
      requester: null,
      subagents: [],
      spawned_by: null,
      roster: [],
    });
  });

  it('of a run on an issue hold all that surrounds it, by two statements', async () => {
    const company = await createCompany(database.db);
    const boss = await createAgent(database.db, company, { name: 'Boss', role: 'ceo' });
    const agent = await createAgent(database.db, company, { name: 'Ada', reports_to: boss.id });
    const top = await insertGoal(company.id, 'Win');
    const goal = await insertGoal(company.id, 'Ship', top.id);
    // A cycle, which no regular change of goals can create: each goal is listed once all the same.
    await database.db.update(goals).set({ parent_goal_id: goal.id }).where(eq(goals.id, top.id));
    const [project] = await database.db
      .insert(projects)
      .values({ company_id: company.id, name: 'Rocket', goal_id: goal.id })
      .returning();
    const parent = await createIssue(database.db, company, { title: 'Parent', assignee_agent_id: boss.id });
    const issue = await createIssue(database.db, company, {
      title: 'Engine',
      body_markdown: 'b'.repeat(30_000),
      project_id: project!.id,
      parent_issue_id: parent.id,
      assignee_agent_id: agent.id,
    });
    const child = await createIssue(database.db, company, { title: 'Child', parent_issue_id: issue.id });
    const trashed = { parent_issue_id: issue.id, deleted_at: new Date() };
    await createIssue(database.db, company, trashed);
    const other = await createIssue(database.db, company, { title: 'Other' });
    const relate = async (source_issue_id: string, target_issue_id: string, relation_type: string) =>
      database.db
        .insert(issue_relations)
        .values({ company_id: company.id, source_issue_id, target_issue_id, relation_type });
    await relate(other.id, issue.id, 'blocks');
    await relate(issue.id, child.id, 'depends_on');
    for (const name of ['urgent', 'api']) {
      const [label] = await database.db.insert(labels).values({ company_id: company.id, name }).returning();
      await database.db.insert(issue_labels).values({ issue_id: issue.id, label_id: label!.id });
    }
    const user = await createUser(database.db, { display_name: 'Grace' });
    await database.db.insert(comments).values(
      Array.from({ length: 35 }, (_, n) => ({
        company_id: company.id,
        issue_id: issue.id,
        body_markdown: `${n} ${'c'.repeat(5000)}`,
        author_user_id: n % 2 === 0 ? user.id : null,
        author_agent_id: n % 2 === 1 ? boss.id : null,
        created_at: new Date(Date.UTC(2026, 0, 1, 0, n)),
      })),
    );
    await transaction(database, async (tx) => {
      const to = { company_id: company.id, agent_id: agent.id, issue_id: issue.id };
      await requestWakeups(tx, human, [{ ...to, reason: 'mention', payload: { comment_id: 'x' } }]);
      await dispatchAgent(tx, agent.id);
    });
    const run = await claim();
    const before = database.statements();
    const facts = await factsOf(run);
    expect(database.statements() - before).toBe(2);
    expect(facts).toMatchObject({
      manager: { name: 'Boss', role: 'ceo' },
      goals: [{ title: 'Ship' }, { title: 'Win' }],
      project: { name: 'Rocket' },
      wakeups: [{ reason: 'mention', payload: { comment_id: 'x' } }],
      issue: {
        identifier: issue.identifier,
        assignee_name: 'Ada',
        labels: ['api', 'urgent'],
        parent: { id: parent.id, title: 'Parent', assignee_name: 'Boss' },
        children: [{ id: child.id, status: 'todo', assignee_name: null }],
        relations: [
          { id: child.id, relation: 'depends_on' },
          { id: other.id, relation: 'blocked_by' },
        ],
        comment_count: 35,
      },
    });
    expect(facts.issue!.children).toHaveLength(1);
    expect(facts.issue!.body_markdown).toHaveLength(20_000);
    expect(facts.issue!.comments).toHaveLength(30);
    expect(facts.issue!.comments[0]).toMatchObject({ author_name: 'Boss' });
    expect(facts.issue!.comments[0]!.body_markdown).toHaveLength(4000);
    expect(facts.issue!.comments.at(-1)!.body_markdown).toMatch(/^34 /);
  });

  it('of a run on an issue with nothing around it take one statement, and one more for each thing there is', async () => {
    const { issue, start } = await runOn();
    const run = await start();
    const cost = async () => {
      const before = database.statements();
      const facts = await factsOf(run);
      return { facts: facts.issue, statements: database.statements() - before };
    };
    const bare = { attachments: [], texts_awaited: false, attachment_count: 0, labels: [], parent: null };
    expect(await cost()).toMatchObject({ facts: { ...bare, children: [], relations: [] }, statements: 1 });
    const company_id = run.company_id;
    const [label] = await database.db.insert(labels).values({ company_id, name: 'urgent' }).returning();
    await database.db.insert(issue_labels).values({ issue_id: issue.id, label_id: label!.id });
    expect(await cost()).toMatchObject({ facts: { ...bare, labels: ['urgent'] }, statements: 2 });
  });

  it('show colleagues to routing roles only', async () => {
    const company = await createCompany(database.db);
    const pm = await createAgent(database.db, company, { role: 'pm' });
    await createAgent(database.db, company, { name: 'Zoe' });
    await createAgent(database.db, company, { name: 'Abe', title: 'Lead', description: 'x'.repeat(1500) });
    await createAgent(database.db, company, { name: 'Gone', deleted_at: new Date() });
    await transaction(database, async (tx) => invokeAgent(tx, human, pm));
    expect((await factsOf(await claim())).roster).toMatchObject([
      { name: 'Abe', title: 'Lead', description: 'x'.repeat(1000) },
      { name: 'Zoe' },
    ]);
  });
});

describe('the skills in a prompt', () => {
  it('are those of the agent’s company, not what other companies teach all of their agents', async () => {
    const teach = async (company: { id: string }, slug: string) =>
      database.db.insert(schema.skills).values({
        company_id: company.id,
        slug,
        name: slug,
        description: `How to: ${slug}`,
        body_markdown: 'Do it.',
        company_wide: true,
      });
    const [company, other] = [await createCompany(database.db), await createCompany(database.db)];
    const agent = await createAgent(database.db, company);
    await createAgent(database.db, other);
    await teach(company, 'own');
    await teach(other, 'secret');
    await transaction(database, async (tx) => invokeAgent(tx, human, agent));
    expect((await factsOf(await claim())).skills).toEqual([
      { slug: 'own', name: 'own', description: 'How to: own' },
    ]);
  });
});

describe('what earlier runs did on the issue', () => {
  it('is told when the last one was lost after it had applied verbs', async () => {
    const { start } = await runOn();
    const first = await start();
    await recordAction(database.db, first, verb(1));
    await recordAction(database.db, first, verb(2, { mutating: false, verb: 'get-issue' }));
    await lose();
    const second = await start();
    expect((await factsOf(second)).applied_by_interrupted).toMatchObject([
      { ordinal: 1, verb: 'status', args: { status: 'done' } },
    ]);
    const outcome = { failure: null, text: null, usage: null, changed: true } as const;
    await transaction(database, async (tx) => finishRun(tx, second, outcome));
    await nextInstant();
    expect((await factsOf(await start())).applied_by_interrupted).toEqual([]);
  });

  it('is told until a run succeeds, however many were interrupted, and by what', async () => {
    const { start } = await runOn();
    const lost = await start();
    await recordAction(database.db, lost, verb(1, { verb: 'create-issue' }));
    await lose();
    await nextInstant();
    const failed = await start();
    await recordAction(database.db, failed, verb(1, { verb: 'comment' }));
    await recordAction(database.db, failed, verb(2, { ok: false, error: 'no such status' }));
    const failure = { category: 'provider', message: 'the model went away' };
    await transaction(database, async (tx) =>
      finishRun(tx, failed, { failure, text: null, usage: null, changed: true }),
    );
    await nextInstant();
    const idle = await start();
    await lose();
    await nextInstant();
    const facts = await factsOf(idle);
    const last = await claim();
    expect(last.retry_of_run_id).toBe(idle.run_id);
    expect((await factsOf(last)).applied_by_interrupted).toEqual(facts.applied_by_interrupted);
    expect(facts.applied_by_interrupted).toMatchObject([{ verb: 'create-issue' }, { verb: 'comment' }]);
  });

  it('is told when verbs of the agent’s last run failed', async () => {
    const { start, issue } = await runOn();
    const first = await start();
    await recordAction(database.db, first, verb(1));
    await recordAction(database.db, first, verb(2, { ok: false, error: 'no such agent' }));
    const outcome = { failure: null, text: null, usage: null, changed: true } as const;
    await transaction(database, async (tx) => finishRun(tx, first, outcome));
    const facts = await factsOf(await start());
    expect(facts.failed_in_previous_run).toMatchObject([{ ordinal: 2, error: 'no such agent' }]);
    expect(facts.applied_by_interrupted).toEqual([]);
    expect(await database.db.$count(heartbeat_runs, eq(heartbeat_runs.issue_id, issue.id))).toBe(2);
    expect(await database.db.$count(issues, eq(issues.id, issue.id))).toBe(1);
  });
});
