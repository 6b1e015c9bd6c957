import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createMembership,
  createUser,
  databaseWithQueue,
  meetAt,
  pendingWakeups,
  queuedJobs,
  waitFor,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  claimWorkspaceAction,
  sweepWorkspaceActions,
  createReviewComment,
  findReviewComment,
  findWorkspace,
  finishWorkspaceAction,
  listChangedFiles,
  listDiffs,
  listReviewComments,
  listWorkspaceActions,
  notePushed,
  markCommentsDelivered,
  openWorkspace,
  renewWorkspaceAction,
  requestWorkspaceAction,
  reviewWorkspace,
  updateReviewComment,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const { db } = database;
  const company = await createCompany(db);
  const agent = await createAgent(db, company);
  const issue = await createIssue(db, company, { assignee_agent_id: agent.id });
  const [row] = await db
    .insert(schema.workspaces)
    .values({
      company_id: company.id,
      issue_id: issue.id,
      kind: 'repository',
      state: 'ready',
      work_commit: 'c1',
    })
    .returning();
  const user = await createUser(db);
  await createMembership(db, company, user);
  const human = actors.user(user, { [company.id]: 'member' });
  const remark = async (line: number, actor: Parameters<typeof createReviewComment>[1] = human) =>
    transaction(database, async (tx) =>
      createReviewComment(tx, actor, issue, { path: 'src/a.ts', line, body_markdown: `line ${line}` }),
    );
  return { company, agent, issue, human, remark, workspace: row! };
}

it('a folder that moves into another project gets neither its environment nor its commands, unless it is of the same repository', async () => {
  const { db } = database;
  const { company, agent, issue, workspace } = await stage();
  const { issues, projects, workspaces } = schema;
  const trusted = {
    setup_command: 'npm ci',
    check_command: 'npm test',
    env: { TOKEN: '${secret:TOKEN}' },
    repo_url: 'https://git.example/own.git',
  };
  const [project] = await db
    .insert(projects)
    .values({ company_id: company.id, name: 'Shop', ...trusted })
    .returning();
  await db.update(issues).set({ project_id: project!.id }).where(eq(issues.id, issue.id));
  const given = async (repo_url: string | null) => {
    await db.update(workspaces).set({ repo_url, version: 1 }).where(eq(workspaces.id, workspace.id));
    return (await openWorkspace(db, { issue_id: issue.id, agent_id: agent.id }))?.project;
  };
  const none = { setup_command: null, check_command: null, env: {} };
  expect(await given(trusted.repo_url)).toMatchObject(trusted);
  expect(await given('https://elsewhere.example/x.git')).toMatchObject(none);
  expect(await given(null)).toMatchObject(none);
});

it('an action is its claimant’s while that renews its lease, and nothing of a former claimant counts', async () => {
  const { db } = database;
  const { company, human } = await stage();
  const issue = await createIssue(db, company);
  const committed = { kind: 'repository', state: 'ready', version: 1, base_commit: 'a', head_commit: 'b' };
  const ids = { company_id: company.id, issue_id: issue.id };
  await db.insert(schema.workspaces).values({ ...ids, ...committed });
  const { id } = await transaction(database, async (tx) => requestWorkspaceAction(tx, human, issue, 'push'));
  const claim = async () => transaction(database, async (tx) => claimWorkspaceAction(tx, id, 30));
  const lapse = async () =>
    db
      .update(schema.workspace_actions)
      .set({ lease_expires_at: new Date(0) })
      .where(eq(schema.workspace_actions.id, id));
  const { action: first } = (await claim())!;
  await lapse();
  expect(await renewWorkspaceAction(db, first, 30)).toBe(true);
  expect(await claim()).toBeUndefined();
  await lapse();
  const { action: second } = (await claim())!;
  expect(await renewWorkspaceAction(db, first, 30)).toBe(false);
  await notePushed(db, first, 'b');
  await transaction(database, async (tx) => finishWorkspaceAction(tx, first, 'too late'));
  const now = async () => ({
    pushed: (await findWorkspace(db, issue))?.pushed_commit,
    status: (await listWorkspaceActions(db, issue, {})).items[0]?.status,
  });
  expect(await now()).toEqual({ pushed: null, status: 'running' });
  await notePushed(db, second, 'b');
  await transaction(database, async (tx) => finishWorkspaceAction(tx, second, null));
  expect(await now()).toEqual({ pushed: 'b', status: 'done' });
});

it('a company has two actions in progress at most: the third waits for one of them, another company’s for none', async () => {
  const ask = async ({ company, human }: Awaited<ReturnType<typeof stage>>) => {
    const issue = await createIssue(database.db, company);
    const committed = { kind: 'repository', state: 'ready', version: 1, base_commit: 'a', head_commit: 'b' };
    const ids = { company_id: company.id, issue_id: issue.id };
    await database.db.insert(schema.workspaces).values({ ...ids, ...committed });
    return transaction(database, async (tx) => requestWorkspaceAction(tx, human, issue, 'push'));
  };
  const claim = async ({ id }: { id: string }) =>
    transaction(database, async (tx) => claimWorkspaceAction(tx, id, 30));
  const crowd = await stage();
  const asked = [await ask(crowd), await ask(crowd), await ask(crowd)];
  let over = 0;
  const atOnce: Promise<unknown>[] = [];
  await transaction(database, async (tx) => {
    expect(await claimWorkspaceAction(tx, asked[0]!.id, 30)).toBeDefined();
    for (const each of asked.slice(1)) atOnce.push(claim(each).finally(() => (over += 1)));
    const locked = sql`select from pg_locks where locktype = 'advisory' and not granted`;
    await waitFor(async () => over + (await database.db.execute(locked)).rows.length === 2);
  });
  expect((await Promise.all(atOnce)).filter((each) => each !== undefined)).toHaveLength(1);
  const [one, other] = [await stage(), await stage()];
  const [first, second, third] = [await ask(one), await ask(one), await ask(one)];
  const begun = await claim(first);
  expect([begun, await claim(second), await claim(third), await claim(await ask(other))]).toEqual([
    expect.objectContaining({ action: expect.objectContaining({ id: first.id }) }),
    expect.anything(),
    undefined,
    expect.anything(),
  ]);
  const offered = async () =>
    (await queuedJobs(database.db, 'act-on-workspace', { action_id: third.id })).length;
  const before = await offered();
  await transaction(database, async (tx) => finishWorkspaceAction(tx, begun!.action, null));
  expect(await offered()).toBe(before + 1);
  expect(await claim(third)).toMatchObject({ action: { id: third.id } });
});

it('an action whose schedulers all died is over after the third, and the issue’s activity says so', async () => {
  const { db } = database;
  const { company, human } = await stage();
  const issue = await createIssue(db, company);
  const committed = { kind: 'repository', state: 'ready', version: 1, base_commit: 'a', head_commit: 'b' };
  await db.insert(schema.workspaces).values({ company_id: company.id, issue_id: issue.id, ...committed });
  const { id } = await transaction(database, async (tx) => requestWorkspaceAction(tx, human, issue, 'push'));
  for (let attempt = 0; attempt < 3; attempt += 1) {
    expect(await transaction(database, async (tx) => claimWorkspaceAction(tx, id, 30))).toBeDefined();
    await db
      .update(schema.workspace_actions)
      .set({ lease_expires_at: new Date(0) })
      .where(eq(schema.workspace_actions.id, id));
  }
  await transaction(database, sweepWorkspaceActions);
  const [row] = await db.select().from(schema.workspace_actions).where(eq(schema.workspace_actions.id, id));
  expect(row).toMatchObject({ status: 'failed', error: 'it was begun several times and never ended' });
  const told = await db
    .select({ action: schema.activity.action })
    .from(schema.activity)
    .where(eq(schema.activity.company_id, company.id));
  expect(told.map(({ action }) => action)).toContain('workspace.push_failed');
});

describe('changed files', () => {
  it('are listed by path in pages, of the branch or of one run, and with their diffs', async () => {
    const { workspace } = await stage();
    const file = {
      workspace_id: workspace.id,
      status: 'modified',
      additions: 1,
      deletions: 0,
      binary: false,
    };
    const rest = { patch: '@@ -1 +1,2 @@\n a\n+b\n', patch_truncated: false };
    await database.db
      .insert(schema.workspace_files)
      .values(['a', 'b', 'c'].map((path, position) => ({ ...file, ...rest, path, position })));
    const first = await listChangedFiles(database.db, workspace, { limit: 2 });
    expect(first.items.map(({ path }) => path)).toEqual(['a', 'b']);
    expect(first.items[0]).not.toHaveProperty('patch');
    const last = await listChangedFiles(database.db, workspace, { cursor: first.next_cursor! });
    expect(last).toMatchObject({ items: [{ path: 'c' }], next_cursor: null });
    const one = await listDiffs(database.db, workspace, { path: 'b' });
    expect(one.items).toMatchObject([{ path: 'b', patch: rest.patch }]);
    expect((await listDiffs(database.db, workspace, { run_id: newId() })).items).toEqual([]);
  });
});

describe('a comment on a line', () => {
  it('is about what was there then, and wakes nobody', async () => {
    const { issue, agent, remark } = await stage();
    expect(await remark(3)).toMatchObject({ line: 3, side: 'new', commit: 'c1', status: 'open' });
    expect(await pendingWakeups(database.db, agent.id)).toEqual([]);
    const { items } = await listReviewComments(database.db, issue, { status: 'open' });
    expect(items).toMatchObject([{ path: 'src/a.ts', body_markdown: 'line 3' }]);
  });

  it('is resolved by anybody and changed by its author alone', async () => {
    const { company, agent, remark, human } = await stage();
    const row = (await findReviewComment(database.db, (await remark(1)).id))!;
    const change = async (actor: typeof human | ReturnType<typeof actors.agent>, body: object) =>
      transaction(database, async (tx) => updateReviewComment(tx, actor, row, body));
    const other = actors.user(await createUser(database.db), { [company.id]: 'member' });
    await expect(change(other, { body_markdown: 'x' })).rejects.toMatchObject({ kind: 'forbidden' });
    await expect(change(actors.agent(agent), { body_markdown: 'x' })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    expect(await change(other, { status: 'resolved' })).toMatchObject({ status: 'resolved' });
    expect(await change(human, { body_markdown: 'x' })).toMatchObject({ body_markdown: 'x' });
  });

  it('needs something to be on', async () => {
    const { remark, workspace } = await stage();
    await database.db.delete(schema.workspaces).where(eq(schema.workspaces.id, workspace.id));
    await expect(remark(1)).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('a review', () => {
  it('that asks for changes wakes the assignee with a comment; an approval does not', async () => {
    const { issue, agent, human, remark } = await stage();
    await remark(1);
    const review = async (verdict: 'approve' | 'request_changes') =>
      transaction(database, async (tx) => reviewWorkspace(tx, human, issue, { verdict }));
    expect(await review('approve')).toMatchObject({ review_state: 'approved' });
    expect(await pendingWakeups(database.db, agent.id)).toEqual([]);
    expect(await review('request_changes')).toMatchObject({ review_state: 'changes_requested' });
    expect(await pendingWakeups(database.db, agent.id)).toHaveLength(1);
    const [said] = await database.db
      .select()
      .from(schema.comments)
      .where(eq(schema.comments.issue_id, issue.id));
    expect(said?.body_markdown).toContain('1 comment on lines');
  });

  it('of an empty workspace is refused', async () => {
    const { issue, human, workspace } = await stage();
    await database.db
      .update(schema.workspaces)
      .set({ state: 'empty' })
      .where(eq(schema.workspaces.id, workspace.id));
    const review = transaction(database, async (tx) =>
      reviewWorkspace(tx, human, issue, { verdict: 'approve' }),
    );
    await expect(review).rejects.toMatchObject({ kind: 'conflict' });
    expect(await findWorkspace(database.db, issue)).toMatchObject({ review_state: 'none' });
  });
});

it('a thousand comments on lines are the most of an issue, also where two are written at once', async () => {
  const { company, issue, human } = await stage();
  await database.db.execute(sql`
    insert into review_comments (company_id, issue_id, path, side, line, body_markdown)
    select ${company.id}, ${issue.id}, 'a.ts', 'new', 1, 'Why?' from generate_series(1, 999)`);
  const write = async (tx: Tx) =>
    createReviewComment(tx, human, issue, { path: 'a.ts', line: 1, body_markdown: 'Why?' });
  // Each has counted, and waits to write.
  const outcomes = await meetAt(database, sql`select from issues where id = ${issue.id} for update`, [
    write,
    write,
  ]);
  expect(outcomes).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    expect.objectContaining({ reason: expect.objectContaining({ kind: 'conflict' }) }),
  ]);
});

it('changes are asked for while a run that was shown the comments on lines ends', async () => {
  const { company, issue, human, agent } = await stage();
  const ids = ['0', '7', 'f'].map((place) => `${place.repeat(8)}-${crypto.randomUUID().slice(9)}`);
  const of = {
    company_id: company.id,
    issue_id: issue.id,
    path: 'a.ts',
    side: 'new',
    line: 1,
    body_markdown: '?',
  };
  for (const id of ids.toReversed()) await database.db.insert(schema.review_comments).values({ ...of, id });
  const { remarks, read_at } = (await openWorkspace(database.db, {
    issue_id: issue.id,
    agent_id: agent.id,
  }))!;
  expect(remarks).toHaveLength(3);
  const outcomes = await meetAt(database, sql`select from review_comments where id = ${ids[1]!} for update`, [
    async (tx) => reviewWorkspace(tx, human, issue, { verdict: 'request_changes' }),
    async (tx) => {
      await tx.execute(sql`set local enable_seqscan = off`);
      await tx.execute(sql`set local enable_bitmapscan = off`);
      return markCommentsDelivered(tx, { remarks, read_at }, agent.id);
    },
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
});
