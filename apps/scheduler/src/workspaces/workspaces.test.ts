import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  createReviewComment,
  createSecret,
  findIssue,
  findRun,
  findWorkspace,
  invokeAgent,
  listCommits,
  listDiffs,
  listRunEvents,
  listWorkspaceActions,
  requestWorkspaceAction,
  reviewWorkspace,
  updateIssue,
} from '@acp/core';
import { schema, transaction } from '@acp/db';
import { loadConfig, Vault } from '@acp/kernel';
import * as kit from '@acp/testkit';
import type { FakeCliCall, GitServer, TestDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { type RunningScheduler, startScheduler } from '../main.ts';
import { clearWorkspaces } from './clear-workspaces.ts';
import { lockFile } from './file-lock.ts';
import { workspaceSources } from './sources.ts';

/** An agent's folder is never inspected without a sandbox. */
const withBubblewrap = await kit.needsBubblewrap(describe);

const KEY = 'a'.repeat(64);
const TOKEN = 'correct-horse-battery';

let db: TestDatabase;
let folder: string;
let server: GitServer;
const running: RunningScheduler[] = [];

beforeAll(async () => {
  db = await kit.cloneDatabase('workspaces');
  void db.notifier;
  folder = await mkdtemp('/var/tmp/workspaces-test-');
  server = await kit.startGitServer(
    { 'README.md': 'Shop\n', 'src/cart.ts': 'one\ntwo\nthree\n' },
    { password: TOKEN },
  );
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(async (scheduler) => scheduler.stop()));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

let scripts = 0;
/** @param home of the scheduler: each stands for a machine of its own */
async function start(calls: FakeCliCall[], home = 'home', env: Record<string, string> = {}) {
  const script = path.join(folder, `script-${(scripts += 1)}.json`);
  await writeFile(script, JSON.stringify({ calls }));
  // The machines share one storage.
  await mkdir(path.join(folder, 'storage'), { recursive: true });
  await mkdir(path.join(folder, home), { recursive: true });
  await symlink(path.join(folder, 'storage'), path.join(folder, home, 'storage')).catch(() => undefined);
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, home),
    SERVICE_PUBLIC_URL: 'http://service.example',
    SERVICE_CLI_A_COMMAND: kit
      .fakeCliCommand('a', script)
      .map((word) => `"${word}"`)
      .join(' '),
    SERVICE_ENCRYPTION_KEY: KEY,
    SERVICE_REPOSITORY_HOSTS: server.host,
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
    ...env,
  });
  const scheduler = await startScheduler({ config, logger: kit.testLogger() });
  running.push(scheduler);
  return scheduler;
}

async function stage(values: Partial<typeof schema.projects.$inferInsert> = {}) {
  const tx = db.database.db;
  const company = await kit.createCompany(tx);
  const user = await kit.createUser(tx, { instance_role: 'admin' });
  const human = kit.actors.user(user, { [company.id]: 'admin' });
  const agent = await kit.createAgent(tx, company, { name: 'Ada', adapter_type: 'cli_a_local' });
  const vault = new Vault(Buffer.from(KEY, 'hex'));
  await transaction(db.database, async (t) =>
    createSecret(t, human, company.id, { name: 'GIT_TOKEN', value: TOKEN }, vault),
  );
  const [project] = await tx
    .insert(schema.projects)
    .values({
      company_id: company.id,
      name: 'Shop',
      repo_url: server.url,
      repo_secret: 'GIT_TOKEN',
      ...values,
    })
    .returning();
  const issue = await kit.createIssue(tx, company, {
    assignee_agent_id: agent.id,
    title: 'Fix the cart',
    project_id: project!.id,
  });
  const tree = (home = 'home') =>
    path.join(folder, home, 'companies', company.id, 'workspaces', issue.id, 'tree');
  const home = path.join(folder, 'home', 'companies', company.id, 'agents', agent.id);
  return { company, human, agent, issue, project: project!, tree, home };
}
type Stage = Awaited<ReturnType<typeof stage>>;

async function complete({ human, agent, issue }: Stage) {
  const { id } = await transaction(db.database, async (tx) => {
    await tx
      .update(schema.issues)
      .set({ stalled_runs: 0, status: 'todo' })
      .where(eq(schema.issues.id, issue.id));
    return invokeAgent(tx, human, agent);
  });
  const run = await kit.waitFor(
    async () => {
      const found = (await findRun(db.database.db, id))!;
      return ['succeeded', 'failed', 'cancelled'].includes(found.status) ? found : false;
    },
    { what: 'the end of the run', timeout_ms: 60_000 },
  );
  const log = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, { limit: 1000 });
  return { ...run, log: JSON.stringify(log) };
}
const workspaceOf = async ({ issue }: Stage) => (await findWorkspace(db.database.db, issue))!;

const acts = async ({ human, issue }: Stage, count: number) =>
  kit.waitFor(
    async () => {
      const { items } = await listWorkspaceActions(
        db.database.db,
        (await findIssue(db.database.db, issue.id))!,
        {},
      );
      const isOver = items.every(({ status }) => status === 'done' || status === 'failed');
      return isOver && items.length === count ? items : false;
    },
    { what: `${count} acts of ${human.name}` },
  );
const push = async ({ human, issue }: Stage) =>
  transaction(db.database, async (tx) =>
    requestWorkspaceAction(tx, human, (await findIssue(tx, issue.id))!, 'push', {}),
  );
const pushed = async (branch: string | null, commit: string | null) =>
  kit.waitFor(
    async () => (await server.git('branch', '--list', branch!, '--format=%(objectname)')) === commit,
    {
      what: 'the branch at the server',
    },
  );

async function age({ issue }: Stage, days: number, status: string): Promise<void> {
  const { issues, workspaces } = schema;
  const last_used_at = new Date(Date.now() - days * 24 * 3600_000);
  await db.database.db.update(issues).set({ status }).where(eq(issues.id, issue.id));
  await db.database.db.update(workspaces).set({ last_used_at }).where(eq(workspaces.issue_id, issue.id));
}

async function clear(home = 'home'): Promise<void> {
  const config = loadConfig({ SERVICE_HOME: path.join(folder, home) });
  const shared = { config, database: db.database, logger: kit.testLogger() };
  const sources = workspaceSources({ ...shared, storage: {} as never, vault: {} as never });
  await clearWorkspaces({ ...shared, workspaces: sources }, new AbortController().signal);
}

withBubblewrap('a run on an issue of a project with a repository', () => {
  it('works on a branch of its own, and what it changed is there to see, run by run', async () => {
    await start([
      { sh: 'sed -i s/two/TWO/ src/cart.ts; git commit -qam "Louder"; echo new > added.txt' },
      { sh: 'echo more >> added.txt' },
    ]);
    const set = await stage();
    const first = await complete(set);
    expect(first).toMatchObject({ status: 'succeeded' });
    const workspace = await workspaceOf(set);
    expect(workspace).toMatchObject({
      kind: 'repository',
      state: 'ready',
      error: null,
      branch: `${set.issue.identifier}-fix-the-cart`,
      file_count: 2,
      additions: 2,
      deletions: 1,
      commit_count: 2,
      review_state: 'pending',
    });
    const { items } = await listDiffs(db.database.db, workspace, {});
    expect(items).toMatchObject([
      { path: 'added.txt', status: 'added', patch: '@@ -0,0 +1 @@\n+new\n' },
      { path: 'src/cart.ts', status: 'modified', patch: '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n' },
    ]);
    const commits = await listCommits(db.database.db, workspace, {});
    expect(commits.items.map(({ subject, author_name }) => [subject, author_name])).toEqual([
      [`${set.issue.identifier}: Fix the cart`, 'Ada'],
      ['Louder', 'Ada'],
    ]);
    const second = await complete(set);
    const ofRun = await listDiffs(db.database.db, await workspaceOf(set), { run_id: second.id });
    expect(ofRun.items).toMatchObject([{ path: 'added.txt', patch: '@@ -1 +1,2 @@\n new\n+more\n' }]);
    // Both calls share one session, in the issue's folder.
    const calls = await kit.fakeCliJournal(set.home);
    expect(calls.map(({ cwd }) => cwd)).toEqual([set.tree(), set.tree()]);
    expect(calls[1]!.args.join(' ')).toContain('--resume=');
    expect(calls[1]!.stdin).toContain('It is as the last run on this issue left it.');
  });

  it('gives the secret of the repository to git alone', async () => {
    await start([{ sh: 'env > seen.txt; cat .git/config >> seen.txt; git log -1 >> seen.txt' }]);
    const set = await stage();
    const run = await complete(set);
    expect(run.status).toBe('succeeded');
    const seen = await readFile(path.join(set.tree(), 'seen.txt'), 'utf8');
    expect(seen).toContain('GIT_AUTHOR_NAME=Ada');
    expect(server.asked.some((header) => header.startsWith('Basic '))).toBe(true);
    const encoded = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
    const [calls] = await kit.fakeCliJournal(set.home);
    for (const text of [seen, run.log, JSON.stringify(calls)])
      for (const secret of [TOKEN, encoded]) expect(text).not.toContain(secret);
  });

  it('with a wrong secret, a branch that is not there or a host that may not be reached: says so and ends', async () => {
    await start([{}], 'strict', { SERVICE_REPOSITORY_HOSTS: '' });
    const forbidden = await complete(await stage());
    expect(forbidden).toMatchObject({ status: 'failed', error_category: 'config' });
    expect(forbidden.error).toContain('without TLS');
    await Promise.all(running.splice(0).map(async (scheduler) => scheduler.stop()));
    await start([{}]);
    const wrong = await stage({ repo_secret: null });
    expect((await complete(wrong)).error).toMatch(/could not read Username|Authentication failed/);
    expect(await workspaceOf(wrong)).toMatchObject({ state: 'failed' });
    expect((await complete(await stage({ base_branch: 'nothing' }))).error).toContain('no branch nothing');
  });

  it('is told the open comments on lines, once, and how the check went, whose output is kept', async () => {
    await start([{ sh: 'echo x > a.txt' }, { fail: { status: 400, message: 'no' } }, {}, {}, {}]);
    const set = await stage({
      check_command: 'echo checked $WORD; cat a.txt; exit 3',
      env: { WORD: 'well' },
    });
    await complete(set);
    expect(await workspaceOf(set)).toMatchObject({
      check_status: 'failed',
      check_output: 'checked well\nx\n',
    });
    await transaction(db.database, async (tx) =>
      createReviewComment(tx, set.human, (await findIssue(tx, set.issue.id))!, {
        path: 'a.txt',
        line: 1,
        line_text: 'x',
        body_markdown: 'Why x?',
      }),
    );
    const prompt = async () => {
      await complete(set);
      return (await kit.fakeCliJournal(set.home)).at(-1)!.stdin;
    };
    const asked = /<comment file="a.txt" line="1" author="[^"]+">\n> x\nWhy x\?\n<\/comment>/;
    // A failed run has not dealt with it.
    expect(await prompt()).toMatch(asked);
    const stdin = await prompt();
    expect(stdin).toContain('After the last run it failed:\n<result>\nchecked well\nx\n');
    expect(stdin).toMatch(asked);
    const later = await prompt();
    expect(later).not.toMatch(asked);
    expect(later).toContain('1 is still open');
    await transaction(db.database, async (tx) =>
      reviewWorkspace(tx, set.human, (await findIssue(tx, set.issue.id))!, { verdict: 'request_changes' }),
    );
    expect(await prompt()).toMatch(asked);
  });

  it('sets up a new folder, and again when its lock files have changed', async () => {
    await start([{}, {}, { sh: 'echo 2 > package-lock.json' }, {}]);
    const setup_command =
      'echo installed >> ../installed.txt || echo walled >> $HOME/walled.txt; echo done >> $HOME/setups.txt';
    const set = await stage({ setup_command });
    for (let count = 1; count <= 4; count += 1) expect((await complete(set)).status).toBe('succeeded');
    const setups = await readFile(path.join(set.home, 'setups.txt'), 'utf8');
    expect(setups).toBe('done\ndone\n');
  });

  it('goes on elsewhere when its machine is gone: nothing that a run had left is lost', async () => {
    const set = await stage();
    const first = await start(
      [{ sh: 'sed -i s/one/ONE/ src/cart.ts; git commit -qam "One"; echo new > b.txt' }],
      'm1',
    );
    await complete(set);
    await first.stop();
    running.splice(0);
    await rm(path.join(folder, 'm1'), { recursive: true, force: true });
    await start([{ sh: 'git log --format=%s > log.txt; cat b.txt src/cart.ts >> log.txt' }], 'm2');
    const { head_commit, branch } = await workspaceOf(set);
    await push(set);
    await pushed(branch, head_commit);
    expect(await complete(set)).toMatchObject({ status: 'succeeded' });
    const log = await readFile(path.join(set.tree('m2'), 'log.txt'), 'utf8');
    expect(log).toBe(`${set.issue.identifier}: Fix the cart\nOne\nThe beginning\nnew\nONE\ntwo\nthree\n`);
    expect((await workspaceOf(set)).file_count).toBe(3);
  });

  it('is pushed after each run that ended well, if its project says so, over nobody else’s commits', async () => {
    await start([
      { sh: 'echo a > a.txt' },
      { sh: 'echo b > b.txt', fail: { status: 400, message: 'no' } },
      { sh: 'echo c > c.txt' },
      { sh: 'echo d > d.txt' },
    ]);
    const set = await stage({ push_after_run: true, branch_template: 'each/{identifier}' });
    await complete(set);
    const { branch, head_commit } = await workspaceOf(set);
    await pushed(branch, head_commit);
    // A failed run left something, which is pushed along with the next one.
    await complete(set);
    expect(await server.git('rev-parse', branch!)).toBe(head_commit);
    await complete(set);
    const second = await workspaceOf(set);
    await pushed(branch, second.head_commit);
    expect(await server.git('ls-tree', '--name-only', branch!)).toContain('b.txt');
    const theirs = await server.commit(branch!, { 'theirs.txt': 'x\n' });
    await complete(set);
    const [act] = await acts(set, 3);
    expect(act).toMatchObject({
      kind: 'push',
      status: 'failed',
      error: expect.stringContaining('others have pushed'),
    });
    expect(await server.git('rev-parse', branch!)).toBe(theirs);
  });

  it('shares a machine with the runs of other schedulers: one copy, fetched by one at a time, and a folder each', async () => {
    const script = [
      { sh: 'echo $SERVICE_AGENT_NAME > who.txt; git commit -qm Who --allow-empty; sleep 0.3' },
    ];
    await Promise.all([start(script, 'shared'), start(script, 'shared')]);
    const set = await stage();
    const sets = [set];
    for (const name of ['Bob', 'Cleo']) {
      const agent = await kit.createAgent(db.database.db, set.company, { name, adapter_type: 'cli_a_local' });
      const values = { assignee_agent_id: agent.id, title: name, project_id: set.project.id };
      sets.push({ ...set, agent, issue: await kit.createIssue(db.database.db, set.company, values) });
    }
    const ended = await Promise.all(sets.map(complete));
    expect(ended.map(({ status, error }) => [status, error])).toEqual(sets.map(() => ['succeeded', null]));
    for (const each of sets)
      expect(await workspaceOf(each)).toMatchObject({ file_count: 1, commit_count: 2, error: null });
    const copies = path.join(folder, 'shared', 'companies', set.company.id, 'repositories');
    const [copy = '', ...more] = (await readdir(copies)).filter((name) => name.endsWith('.git'));
    expect(more).toEqual([]);
    // The copy keeps refs for each workspace for as long as its folder is there.
    await age(sets[0]!, 8, 'done');
    await clear('shared');
    const left = await Promise.all(sets.slice(1).map(workspaceOf));
    const refs = await readdir(path.join(copies, copy, 'refs/service'));
    expect(refs.toSorted()).toEqual(left.map(({ id }) => id).toSorted());
    await clear('shared');
  });

  it('takes a folder that lies ready, whose files are those of the base as it is then', async () => {
    await start([{ sh: 'ls src > list.txt; git log --format=%s >> list.txt' }], 'ready');
    const set = await stage();
    await complete(set);
    const copies = path.join(folder, 'ready', 'companies', set.company.id, 'repositories');
    const spare = async () =>
      kit.waitFor(async () => (await readdir(copies)).find((name) => name.includes('.spare-')), {
        what: 'a folder made ahead',
      });
    const second = async (title: string) => {
      const { ino } = await stat(path.join(copies, await spare()));
      const values = { assignee_agent_id: set.agent.id, title, project_id: set.project.id };
      const { issues } = schema;
      await db.database.db
        .update(issues)
        .set({ status: 'done' })
        .where(eq(issues.company_id, set.company.id));
      const issue = await kit.createIssue(db.database.db, set.company, values);
      const tree = path.join(folder, 'ready', 'companies', set.company.id, 'workspaces', issue.id, 'tree');
      expect((await complete({ ...set, issue })).status).toBe('succeeded');
      expect((await stat(tree)).ino).toBe(ino);
      expect(await workspaceOf({ ...set, issue })).toMatchObject({ file_count: 1, commit_count: 1 });
      return readFile(path.join(tree, 'list.txt'), 'utf8');
    };
    expect(await second('As it was')).toBe('cart.ts\nThe beginning\n');
    await server.commit('main', { 'src/new.ts': 'new\n' }, 'Went on');
    const [copy = ''] = (await readdir(copies)).filter((name) => name.endsWith('.git'));
    await utimes(path.join(copies, copy, 'service-fetched'), 0, 0);
    expect(await second('Went on')).toBe('cart.ts\nnew.ts\nWent on\nThe beginning\n');
    await server.git('update-ref', 'refs/heads/main', 'refs/heads/main~1');
  });

  it('leaves a folder to whoever still holds it, and goes on in one as it was stored', async () => {
    await start([{ sh: 'echo a > a.txt' }, { sh: 'cat a.txt half.txt > b.txt; true' }]);
    const set = await stage();
    await complete(set);
    await writeFile(path.join(set.tree(), 'half.txt'), 'of a program that goes on\n');
    const place = path.dirname(set.tree());
    const { signal } = new AbortController();
    const lost = (await lockFile(path.join(place, 'lock'), { wait_ms: 0, signal }))!;
    const run = await complete(set);
    expect(run).toMatchObject({ status: 'succeeded' });
    expect(run.log).toContain('in the hands of an earlier run');
    expect(await readFile(path.join(set.tree(), 'b.txt'), 'utf8')).toBe('a\n');
    const aside = (await readdir(place)).find((name) => name.startsWith('left-'))!;
    expect(await readdir(path.join(place, aside))).toContain('half.txt');
    await lost.release();
  });

  it('of a failing run keeps what was done, uncommitted', async () => {
    await start([{ sh: 'echo half > half.txt', fail: { status: 400, message: 'no' } }]);
    const set = await stage();
    expect(await complete(set)).toMatchObject({ status: 'failed' });
    const workspace = await workspaceOf(set);
    expect(workspace).toMatchObject({ file_count: 1, commit_count: 0 });
    expect(workspace.work_commit).not.toBe(workspace.head_commit);
  });

  it('is handed over with the issue: another agent finds the folder, but not the session', async () => {
    await start([{ sh: 'echo from $SERVICE_AGENT_NAME >> who.txt' }]);
    const set = await stage();
    await complete(set);
    const values = { name: 'Bob', adapter_type: 'cli_a_local' };
    const other = await kit.createAgent(db.database.db, set.company, values);
    await transaction(db.database, async (tx) =>
      updateIssue(tx, set.human, (await findIssue(tx, set.issue.id))!, { assignee_agent_id: other.id }),
    );
    await complete({ ...set, agent: other });
    expect(await readFile(path.join(set.tree(), 'who.txt'), 'utf8')).toBe('from Ada\nfrom Bob\n');
    const home = path.join(path.dirname(set.home), other.id);
    expect((await kit.fakeCliJournal(home))[0]!.args.join(' ')).not.toContain('--resume=');
  });
});

withBubblewrap('a folder that means no good', () => {
  it('sees nothing of another company, and is kept all the same', async () => {
    const other = await stage();
    const theirs = path.join(folder, 'home', 'companies', other.company.id, 'repositories');
    const evil = `[ "$EVIL" = yes ] || exit 0
      ln -s ${theirs} theirs; ls ${theirs} > seen.txt 2>&1
      for each in ${theirs}/*/objects; do echo $each >> .git/objects/info/alternates; done`;
    await start([{ sh: evil }]);
    await complete(other);
    const set = await stage({ env: { EVIL: 'yes', LD_PRELOAD: '/nowhere/evil.so' } });
    expect(await complete(set)).toMatchObject({ status: 'succeeded' });
    expect(await readFile(path.join(set.tree(), 'seen.txt'), 'utf8')).toContain('No such file');
    const { items } = await listDiffs(db.database.db, await workspaceOf(set), {});
    expect(items.map((file) => file.path)).toEqual(['seen.txt', 'theirs']);
    // A link is a line of text, wherever it points.
    expect(items[1]!.patch).toContain(`+${theirs}`);
  });
});

withBubblewrap('a run on an issue without a repository', () => {
  it('has a folder of the issue’s own, whose files are followed all the same', async () => {
    const set = await stage({ repo_url: null, repo_secret: null });
    const first = await start([{ sh: 'echo a > a.txt; test ! -e .git' }], 'm3');
    await complete(set);
    expect(await workspaceOf(set)).toMatchObject({ kind: 'folder', file_count: 1, additions: 1 });
    await first.stop();
    running.splice(0);
    await start([{ sh: 'cp a.txt b.txt' }], 'm4');
    await complete(set);
    expect(await readFile(path.join(set.tree('m4'), 'b.txt'), 'utf8')).toBe('a\n');
    expect((await readdir(set.tree('m4'))).toSorted()).toEqual(['a.txt', 'b.txt']);
  });
});

withBubblewrap('the folder of an issue that is over', () => {
  it('goes after the days that its project says, what was never pushed is said, and comes back with the next run', async () => {
    await start([{ sh: 'echo a > a.txt' }, { sh: 'cat a.txt > b.txt' }]);
    const set = await stage({ workspace_days: 2 });
    await complete(set);
    for (const [days, status] of [
      [3, 'in_review'],
      [1, 'done'],
    ] as const) {
      await age(set, days, status);
      await clear();
      expect(await readdir(set.tree())).toContain('a.txt');
    }
    await age(set, 3, 'done');
    await clear();
    await expect(readdir(set.tree())).rejects.toThrow('ENOENT');
    expect(await workspaceOf(set)).toMatchObject({ state: 'removed', place: null });
    const { activity } = schema;
    const said = await db.database.db.select().from(activity).where(eq(activity.company_id, set.company.id));
    const removed = said.filter(({ action }) => action === 'workspace.removed');
    expect(removed).toMatchObject([{ details: { unpushed: true, status: 'done' } }]);
    await complete(set);
    expect(await readFile(path.join(set.tree(), 'b.txt'), 'utf8')).toBe('a\n');
  });
});
