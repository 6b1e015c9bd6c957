// An issue's workspace in a container: what is visible there, and what of it is kept. Run by `npm run test:containers`.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { findIssue, findRun, findWorkspace, invokeAgent, listDiffs } from '@acp/core';
import { schema, transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { type RunningScheduler, startScheduler } from '@acp/scheduler';
import * as kit from '@acp/testkit';
import { eq } from 'drizzle-orm';

const withGit: typeof describe.skip = process.env.CONTAINER_TEST_GIT === 'yes' ? describe : describe.skip;
const image = process.env.CONTAINER_TEST_IMAGE ?? '';

let db: kit.TestDatabase;
let folder: string;
let server: kit.GitServer;
let scheduler: RunningScheduler;

beforeAll(async () => {
  db = await kit.cloneDatabase('container_workspaces');
  void db.notifier;
  folder = await mkdtemp('/var/tmp/container-workspaces-');
  server = await kit.startGitServer({ 'a.txt': 'a\n' });
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_CONTAINER_CLI: process.env.CONTAINER_CLI,
    SERVICE_DOCKER_IMAGES: image,
    SERVICE_REPOSITORY_HOSTS: server.host,
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
  });
  scheduler = await startScheduler({ config, logger: kit.testLogger() });
});
afterAll(async () => {
  await scheduler.stop();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function stage(script: string) {
  const tx = db.database.db;
  const company = await kit.createCompany(tx);
  const human = kit.actors.user(await kit.createUser(tx), { [company.id]: 'admin' });
  const command = ['/bin/sh', '-c', `cat > /dev/null; ${script}; echo '{"summary":"done"}'`];
  const agent = await kit.createAgent(tx, company, {
    name: 'Ada',
    adapter_type: 'docker',
    adapter_config: { image, command },
  });
  const [project] = await tx
    .insert(schema.projects)
    .values({ company_id: company.id, name: 'Shop', repo_url: server.url, check_command: 'cat b.txt' })
    .returning();
  const values = { assignee_agent_id: agent.id, title: 'Fix it', project_id: project!.id };
  const issue = await kit.createIssue(tx, company, values);
  const complete = async () => {
    const { issues } = schema;
    await tx.update(issues).set({ stalled_runs: 0, status: 'todo' }).where(eq(issues.id, issue.id));
    const { id } = await transaction(db.database, async (t) => invokeAgent(t, human, agent));
    return kit.waitFor(
      async () => {
        const run = await findRun(tx, id);
        return run?.finished_at === null ? false : run;
      },
      { what: 'the end of the run', timeout_ms: 50_000 },
    );
  };
  const left = async () => {
    const row = (await findIssue(tx, issue.id))!;
    const workspace = (await findWorkspace(tx, row))!;
    return { workspace, diffs: (await listDiffs(tx, workspace, {})).items };
  };
  return { company, complete, left };
}

withGit('a container on an issue of a project with a repository', () => {
  it('works on the issue’s branch, commits as its agent, and is checked within the same walls', async () => {
    const { complete, left } = await stage(
      'pwd > b.txt; git add b.txt; git commit -qm "By hand"; echo c > c.txt',
    );
    expect(await complete()).toMatchObject({ status: 'succeeded', error: null });
    const { workspace, diffs } = await left();
    expect(workspace).toMatchObject({
      commit_count: 2,
      check_status: 'passed',
      check_output: '/workspace\n',
    });
    expect(diffs).toMatchObject([
      { path: 'b.txt', patch: '@@ -0,0 +1 @@\n+/workspace\n' },
      { path: 'c.txt', status: 'added' },
    ]);
  });

  it('sees the folder and the objects that it leans on, and changes the folder alone', async () => {
    const { complete, left, company } = await stage(
      [
        'echo b > b.txt; objects=$(cat .git/objects/info/alternates)',
        'touch $objects/evil 2> /dev/null && echo written >> seen.txt',
        'ls $objects/.. ../../.. 2>&1 | cat >> seen.txt; env | sort >> seen.txt',
      ].join('; '),
    );
    expect(await complete()).toMatchObject({ status: 'succeeded', error: null });
    const seen = (await left()).diffs.find((file) => file.path === 'seen.txt')!.patch!;
    expect(seen).not.toContain('+written');
    for (const name of ['service-fetched', 'service-head', '+home.key']) expect(seen).not.toContain(name);
    expect(seen).toContain('GIT_AUTHOR_NAME=Ada');
    expect(seen).not.toContain(path.join(folder, 'home', 'companies', company.id, 'workspaces'));
  });

  it('that exchanges `.git` for something else runs nothing out here, and its files are followed all the same', async () => {
    const owned = path.join(folder, 'owned');
    const { complete, left } = await stage(
      [
        'echo b > b.txt; printf "[core]\\n\\tfsmonitor = touch %s\\n" ' + owned + ' > evil',
        'rm() { /bin/busybox rm "$@"; }; rm -rf .git; /bin/busybox mkdir hidden; /bin/busybox cp evil hidden/config',
        'echo "gitdir: hidden" > .git',
      ].join('; '),
    );
    for (let again = 0; again < 2; again += 1)
      expect(await complete()).toMatchObject({ status: 'succeeded', error: null });
    const { workspace, diffs } = await left();
    expect(workspace.error).toBeNull();
    expect(diffs.map((file) => file.path)).toEqual(expect.arrayContaining(['b.txt', 'evil']));
    await expect(rm(owned)).rejects.toThrow('ENOENT');
  });
});
