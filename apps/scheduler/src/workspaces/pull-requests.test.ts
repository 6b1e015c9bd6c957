import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  claimPullRequestOf,
  claimWorkspaceAction,
  createSecret,
  deleteIssue,
  findIssue,
  findWorkspace,
  listActivity,
  listWorkspaceActions,
  listWorkProducts,
  notePullRequest,
  openWorkspace,
  requestWorkspaceAction,
  storeWorkspaceState,
  sweepWorkspaceActions,
  systemActor,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { loadConfig, newId, Vault } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import * as kit from '@acp/testkit';
import type { FakeGithubPulls, GitServer } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { actOnWorkspace } from './act-on-workspace.ts';
import { type WorkspaceSources, workspaceSources } from './sources.ts';
import { lookAtBranch, watchPullRequests } from './watch-pull-requests.ts';

const TOKEN = 'correct-horse-battery';
const { signal } = new AbortController();

let database: Database;
let folder: string;
let server: GitServer;
let github: FakeGithubPulls;
let sources: WorkspaceSources;

beforeAll(async () => {
  database = await kit.databaseWithQueue();
  folder = await mkdtemp('/var/tmp/pull-requests-test-');
  server = await kit.startGitServer({ 'a.txt': 'a\n' }, { password: TOKEN });
  github = await kit.startFakeGithubPulls(
    async (branch) => server.git('rev-parse', branch),
    async (base, head) => void (await server.git('update-ref', `refs/heads/${base}`, `refs/heads/${head}`)),
  );
  await mkdir(path.join(folder, 'home'));
  const config = loadConfig({
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_REPOSITORY_HOSTS: server.host,
    SERVICE_REPOSITORY_APIS: `${server.host}=github:${github.url}`,
  });
  sources = workspaceSources({
    config,
    database,
    logger: kit.testLogger(),
    storage: new LocalStorage(path.join(folder, 'storage')),
    vault: new Vault(Buffer.alloc(32, 1)),
  });
});
beforeEach(() => {
  github.pulls.length = 0;
  github.reviews.length = 0;
  github.checks.length = 0;
});
afterAll(async () => {
  await Promise.all([server.close(), github.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** Creates an issue whose branch has been worked on; only the server's repository has its commit, under no branch. */
async function stage() {
  const { db: tx } = database;
  const company = await kit.createCompany(tx);
  const user = await kit.createUser(tx);
  await kit.createMembership(tx, company, user, 'admin');
  const human = kit.actors.user(user, { [company.id]: 'admin' });
  const agent = await kit.createAgent(tx, company);
  await transaction(database, async (t) =>
    createSecret(t, human, company.id, { name: 'TOKEN', value: TOKEN }, sources.vault),
  );
  const settings = { repo_url: server.url, repo_secret: 'TOKEN' };
  const [project] = await tx
    .insert(schema.projects)
    .values({ company_id: company.id, name: 'Shop', ...settings })
    .returning();
  const issue = await kit.createIssue(tx, company, { title: `Fix ${newId()}`, project_id: project!.id });
  const row = (await findIssue(tx, issue.id))!;
  const { workspace } = (await openWorkspace(tx, { issue_id: issue.id, agent_id: agent.id }))!;
  const base_commit = await server.git('rev-parse', 'main');
  const commit = async (text: string) => {
    // As if fetched from a bundle: in the cache, under the workspace's own names.
    const name = `work-${newId()}`;
    const sha = await server.commit(name, { 'a.txt': text });
    const remote = { company_id: company.id, repo_url: settings.repo_url, secret: TOKEN, list: null };
    await sources.cache.fetched(remote, { max_age_ms: 0, tolerant: false, signal });
    await server.git('update-ref', '-d', `refs/heads/${name}`);
    const [run] = await tx
      .insert(schema.heartbeat_runs)
      .values({ company_id: company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type: 'llm' })
      .returning();
    const before = (await findWorkspace(tx, issue))!;
    const counts = {
      file_count: 1,
      additions: 1,
      deletions: 1,
      commit_count: 1,
      size_bytes: 1,
      truncated: false,
    };
    await transaction(database, async (t) =>
      storeWorkspaceState(t, systemActor('tests'), before, run!.id, {
        base_commit,
        head_commit: sha,
        work_commit: sha,
        ...counts,
        files: [],
        run_files: [],
        commits: [],
        place: 'here',
      }),
    );
    return sha;
  };
  const act = async (kind: 'push' | 'open_pull_request' | 'merge', input: Record<string, unknown> = {}) => {
    const { id } = await transaction(database, async (t) =>
      requestWorkspaceAction(t, human, row, kind, input),
    );
    await actOnWorkspace(sources, id, signal);
    return (await listWorkspaceActions(tx, row, {})).items[0]!;
  };
  const products = async () => (await listWorkProducts(tx, row, {})).items;
  const product = async () => (await products())[0];
  const look = async () => {
    await tx.update(schema.pull_requests).set({ next_look_at: new Date(0) });
    await watchPullRequests(sources, signal);
  };
  const request = async (kind: 'push' | 'merge') =>
    transaction(database, async (t) => requestWorkspaceAction(t, human, row, kind));
  /** A scheduler is killed that has just begun with it. */
  const beginAndDie = async (id: string) => {
    await transaction(database, async (t) => claimWorkspaceAction(t, id, 30));
    await tx.update(schema.workspace_actions).set({ lease_expires_at: new Date(0) });
  };
  const last = async () => (await listWorkspaceActions(tx, row, {})).items[0]!;
  return {
    human,
    company,
    issue: row,
    request,
    beginAndDie,
    last,
    project: project!,
    branch: workspace.branch!,
    commit,
    act,
    product,
    products,
    look,
  };
}

type Staged = Awaited<ReturnType<typeof stage>>;

describe('a branch', () => {
  it('is pushed as it was stored last, with the secret, and again after it was written anew', async () => {
    const s = await stage();
    for (const text of ['b\n', 'c\n']) {
      const sha = await s.commit(text);
      expect(await s.act('push')).toMatchObject({ kind: 'push', status: 'done', error: null });
      expect(await server.git('rev-parse', s.branch)).toBe(sha);
      expect(await findWorkspace(database.db, s.issue)).toMatchObject({ pushed_commit: sha });
    }
    expect(server.asked.filter((header) => header.startsWith('Basic ')).length).toBeGreaterThan(0);
  });

  it('that somebody else has pushed to is not overwritten', async () => {
    const s = await stage();
    await s.commit('b\n');
    await s.act('push');
    const theirs = await server.commit(s.branch, { 'b.txt': 'theirs\n' });
    await s.commit('c\n');
    expect(await s.act('push')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining(`others have pushed to ${s.branch}`),
    });
    expect(await server.git('rev-parse', s.branch)).toBe(theirs);
  });

  it('that was removed at its host after a push is pushed again', async () => {
    const s = await stage();
    await s.commit('b\n');
    await s.act('push');
    await server.git('update-ref', '-d', `refs/heads/${s.branch}`);
    const sha = await s.commit('c\n');
    expect(await s.act('push')).toMatchObject({ status: 'done', error: null });
    expect(await server.git('rev-parse', s.branch)).toBe(sha);
  });

  it('whose push was aborted with its scheduler is pushed by the next one', async () => {
    const s = await stage();
    const sha = await s.commit('b\n');
    const { id } = await transaction(database, async (tx) =>
      requestWorkspaceAction(tx, s.human, s.issue, 'push'),
    );
    await expect(actOnWorkspace(sources, id, AbortSignal.abort())).rejects.toThrow('aborted');
    await actOnWorkspace(sources, id, signal);
    expect(await server.git('rev-parse', s.branch)).toBe(sha);
  });

  it('without a commit, or with an act under way, is refused; a wrong secret is said without it', async () => {
    const s = await stage();
    await expect(s.act('push')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'nothing is committed yet',
    });
    await s.commit('b\n');
    const ask = async () =>
      transaction(database, async (tx) => requestWorkspaceAction(tx, s.human, s.issue, 'push'));
    const { id } = await ask();
    await expect(ask()).rejects.toMatchObject({ kind: 'conflict' });
    const value = sources.vault.seal('wrong-secret-1', 'elsewhere');
    expect(value).not.toContain('wrong-secret-1');
    await database.db
      .update(schema.projects)
      .set({ repo_secret: null })
      .where(eq(schema.projects.id, s.project.id));
    await actOnWorkspace(sources, id, signal);
    const [action] = (await listWorkspaceActions(database.db, s.issue, {})).items;
    expect(action).toMatchObject({ status: 'failed' });
    expect(action!.error).toMatch(/Username|Authentication/);
    // Done only once: a repeated job finds nothing to do.
    await actOnWorkspace(sources, id, signal);
    expect((await listWorkspaceActions(database.db, s.issue, {})).items).toEqual([action]);
  });
});

describe('an action', () => {
  it.each([
    [
      'whose issue is in the trash',
      async (s: Staged) => transaction(database, async (tx) => deleteIssue(tx, s.human, s.issue)),
      'the issue is in the trash',
    ],
    [
      'whose company is in the trash',
      async ({ company }: Staged) =>
        database.db
          .update(schema.companies)
          .set({ deleted_at: new Date() })
          .where(eq(schema.companies.id, company.id)),
      'the issue is in the trash',
    ],
    [
      'of someone who was removed from the company',
      async ({ company }: Staged) =>
        database.db.delete(schema.memberships).where(eq(schema.memberships.company_id, company.id)),
      'whoever requested it may no longer do so',
    ],
    [
      'of someone who may now only read',
      async ({ company }: Staged) =>
        database.db
          .update(schema.memberships)
          .set({ role: 'viewer' })
          .where(eq(schema.memberships.company_id, company.id)),
      'whoever requested it may no longer do so',
    ],
  ])('%s since is not performed', async (_, withdraw, error) => {
    const s = await stage();
    await s.commit('b\n');
    const { id } = await s.request('push');
    await withdraw(s);
    await actOnWorkspace(sources, id, signal);
    expect(await s.last()).toMatchObject({ status: 'failed', error });
    expect(await server.git('branch', '--list', s.branch)).toBe('');
  });

  it('that its schedulers begin and never end has failed, and the issue’s activity says so', async () => {
    const s = await stage();
    await s.commit('b\n');
    const { id } = await s.request('push');
    for (let attempt = 1; attempt <= 3; attempt += 1) await s.beginAndDie(id);
    await transaction(database, async (tx) => sweepWorkspaceActions(tx));
    const error = 'it was begun several times and never ended';
    expect(await s.last()).toMatchObject({ status: 'failed', error });
    const { items } = await listActivity(database.db, s.company.id, {});
    expect(items[0]).toMatchObject({ action: 'workspace.push_failed', details: { error } });
  });
});

describe('a pull request', () => {
  it('that was merged by a scheduler killed over it has been merged, also once its end was seen', async () => {
    const s = await stage();
    await s.commit('killed over\n');
    await s.act('open_pull_request');
    const { id } = await s.request('merge');
    await s.beginAndDie(id);
    Object.assign(github.pulls[0]!, { state: 'closed', merged_at: '2026-01-01T00:00:00Z' });
    await s.look();
    expect(await s.product()).toMatchObject({ status: 'merged' });
    await actOnWorkspace(sources, id, signal);
    expect(await s.last()).toMatchObject({ kind: 'merge', status: 'done', error: null });
    // Another request finds none to merge.
    expect(await s.act('merge')).toMatchObject({ status: 'failed', error: 'there is no open pull request' });
  });

  it('is opened once, followed over reviews and checks, and its merge ends the issue', async () => {
    const s = await stage();
    // Merged, it is what the branches of later tests begin with: they have to change it.
    const sha = await s.commit('merged\n');
    expect(await s.act('open_pull_request', { draft: true, body_markdown: 'Please.' })).toMatchObject({
      status: 'done',
      error: null,
    });
    expect(await s.act('open_pull_request')).toMatchObject({ status: 'done' });
    expect(github.pulls).toMatchObject([{ head: s.branch, base: 'main', draft: true, body: 'Please.' }]);
    expect(github.asked).toContain(`Bearer ${TOKEN}`);
    expect(await s.product()).toMatchObject({
      type: 'pull_request',
      provider: 'github',
      external_id: '7',
      status: 'active',
      review_state: 'pending',
      metadata: { branch: s.branch, base_branch: 'main', head_commit: sha },
    });
    github.reviews.push({ state: 'CHANGES_REQUESTED', user: { login: 'mary' } });
    github.checks.push({ name: 'build', status: 'completed', conclusion: 'failure' });
    await s.look();
    expect(await s.product()).toMatchObject({ review_state: 'changes_requested', health_status: 'failing' });
    github.reviews.push({ state: 'APPROVED', user: { login: 'mary' } });
    // Anyone who can see the repository may comment, which counts for nothing.
    for (const author_association of ['NONE', 'CONTRIBUTOR'])
      github.reviews.push({ state: 'CHANGES_REQUESTED', user: { login: 'mallory' }, author_association });
    github.checks[0]!.conclusion = 'success';
    await s.look();
    expect(await s.product()).toMatchObject({ review_state: 'approved', health_status: 'healthy' });
    expect(await s.act('merge', { method: 'squash' })).toMatchObject({ status: 'done', error: null });
    expect(await s.product()).toMatchObject({ status: 'merged' });
    expect(await findIssue(database.db, s.issue.id)).toMatchObject({ status: 'done' });
    expect(await server.git('rev-parse', 'main')).toBe(sha);
    expect(github.complaints).toEqual([]);
  });

  it('is judged by all its reviews and checks, however many there are', async () => {
    const s = await stage();
    await s.commit('g\n');
    await s.act('open_pull_request');
    github.reviews.push({ state: 'APPROVED', user: { login: 'mary' } });
    for (let count = 0; count < 100; count++)
      github.reviews.push({ state: 'COMMENTED', user: { login: 'mary' } });
    github.reviews.push({ state: 'CHANGES_REQUESTED', user: { login: 'mary' } });
    for (let count = 0; count < 200; count++)
      github.checks.push({ name: `part ${count}`, status: 'completed', conclusion: 'success' });
    await s.look();
    expect(await s.product()).toMatchObject({ review_state: 'changes_requested', health_status: 'healthy' });
    github.checks.push({ name: 'build', status: 'completed', conclusion: 'failure' });
    await s.look();
    expect(await s.product()).toMatchObject({ health_status: 'failing' });
    expect(github.complaints).toEqual([]);
  });

  it('is looked at when its host says so, however many say so at once, and an older look does not undo it', async () => {
    const s = await stage();
    await s.commit('f\n');
    await s.act('open_pull_request');
    const { id } = (await findWorkspace(database.db, s.issue))!;
    const before = await claimPullRequestOf(database.db, id);
    github.reviews.push({ state: 'APPROVED', user: { login: 'mary' } });
    await Promise.all([1, 2, 3].map(async () => lookAtBranch(sources, id, signal)));
    expect(await s.product()).toMatchObject({ review_state: 'approved' });
    const stale = {
      ...github.pulls[0]!,
      url: '',
      review_state: 'pending',
      health_status: 'unknown',
    } as const;
    await transaction(database, async (tx) =>
      notePullRequest(tx, before!, { ...stale, state: 'closed', head_commit: null }),
    );
    expect(await s.product()).toMatchObject({ status: 'active', review_state: 'approved' });
  });

  it('that others have opened for the branch is found, closed, and is the same one when it is opened again', async () => {
    const s = await stage();
    await s.commit('g\n');
    await s.act('push');
    const { id } = (await findWorkspace(database.db, s.issue))!;
    const hear = async () => lookAtBranch(sources, id, signal);
    await hear();
    expect(await s.product()).toBeUndefined();
    const theirs = { number: 7, title: 'By hand', body: '', head: s.branch, base: 'main', draft: false };
    github.pulls.push({ ...theirs, state: 'open', merged_at: null });
    await Promise.all([hear(), hear()]);
    expect(await s.products()).toMatchObject([{ title: 'By hand', status: 'active' }]);
    github.pulls[0]!.state = 'closed';
    await hear();
    github.pulls[0]!.state = 'open';
    await hear();
    expect(await s.products()).toMatchObject([{ external_id: '7', status: 'active' }]);
    expect(github.complaints).toEqual([]);
  });

  it('that has fallen behind its branch is not merged, and one that is closed over there ends nothing', async () => {
    const s = await stage();
    await s.commit('d\n');
    await s.act('open_pull_request');
    await s.commit('e\n');
    expect(await s.act('merge')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('push it first'),
    });
    github.pulls[0]!.state = 'closed';
    await s.look();
    expect(await s.product()).toMatchObject({ status: 'closed' });
    expect(await findIssue(database.db, s.issue.id)).toMatchObject({ status: 'todo' });
    expect(await s.act('merge')).toMatchObject({ status: 'failed', error: 'there is no open pull request' });
    expect(github.complaints).toEqual([]);
  });
});
