import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  Issue,
  NewRepositoryWebhook,
  ReviewComment,
  Run,
  Workspace,
  WorkspaceAction,
  WorkspaceDiff,
  WorkProduct,
} from '@acp/contract';
import { findBubblewrap } from '@acp/kernel';
import {
  cloneDatabase,
  fakeCliCommand,
  type FakeGithubPulls,
  fakeCliJournal,
  type FakeCliCall,
  type GitServer,
  killServices,
  type ServiceProcess,
  startFakeGithubPulls,
  startGitServer,
  startService,
  waitFor,
} from '@acp/testkit';
import { sign } from '@octokit/webhooks-methods';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Api, baseEnv, createTeam, signIn, type Team } from './api.ts';

/** Nothing looks into an agent's folder without walls. */
const withBubblewrap: typeof describe.skip = 'file' in (await findBubblewrap()) ? describe : describe.skip;
const TOKEN = 'correct-horse-battery';

let folder: string;
let server: GitServer;
let github: FakeGithubPulls;
let web: ServiceProcess;
let api: Api;
let startScheduler: () => Promise<ServiceProcess>;

/** What the agent's program does, call by call: the second ends with its scheduler. */
const calls: FakeCliCall[] = [
  { sh: 'sed -i s/two/TWO/ src/cart.ts; git commit -qam "Louder"' },
  { sh: 'echo "half of it" >> src/cart.ts', hang: 'stubborn' },
  { sh: 'sed -i s/TWO/Two/ src/cart.ts; git commit -qam "Not so loud"' },
];

beforeAll(async () => {
  const db = await cloneDatabase('git_story');
  folder = await mkdtemp('/var/tmp/git-story-');
  server = await startGitServer({ 'src/cart.ts': 'one\ntwo\nthree\n' }, { password: TOKEN });
  github = await startFakeGithubPulls(
    async (branch) => server.git('rev-parse', branch),
    async (base, head) => void (await server.git('update-ref', `refs/heads/${base}`, `refs/heads/${head}`)),
  );
  const script = path.join(folder, 'script.json');
  await writeFile(script, JSON.stringify({ calls }));
  const env = {
    ...baseEnv,
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_ENCRYPTION_KEY: 'a'.repeat(64),
    SERVICE_CLI_A_COMMAND: fakeCliCommand('a', script)
      .map((word) => `"${word}"`)
      .join(' '),
    SERVICE_REPOSITORY_HOSTS: server.host,
    SERVICE_REPOSITORY_APIS: `${server.host}=github:${github.url}`,
  };
  web = await startService({ ...env, SERVICE_ROLE: 'web' });
  api = await signIn(web);
  startScheduler = async () => startService({ ...env, SERVICE_ROLE: 'scheduler' });
});

afterAll(async () => {
  await killServices();
  await Promise.all([server.close(), github.close()]);
  await rm(folder, { recursive: true, force: true });
});

async function assign(team: Team): Promise<Issue> {
  const of = `/api/companies/${team.company_id}`;
  await api.call('POST', `${of}/secrets`, { name: 'GIT_TOKEN', value: TOKEN });
  const project = await api.call<{ id: string }>('POST', `${of}/projects`, {
    name: 'Shop',
    repo_url: server.url,
    repo_secret: 'GIT_TOKEN',
    check_command: 'grep -q Two src/cart.ts',
  });
  return api.call<Issue>('POST', `${of}/issues`, {
    title: 'Fix the cart',
    project_id: project.id,
    assignee_agent_id: team.agents[0]!.id,
  });
}

withBubblewrap('an issue', () => {
  it('becomes a branch, a review, a second run over a killed scheduler, a pull request, and done by its merge', async () => {
    const team = await createTeam(api, ['Ada'], { adapter_type: 'cli_a_local' });
    const first = await startScheduler();
    const issue = await assign(team);
    const here = `/api/issues/${issue.id}/workspace`;
    const runs = async () =>
      api.call<Run[]>('GET', `/api/companies/${team.company_id}/heartbeat-runs?issueId=${issue.id}`);
    const ended = async (count: number) =>
      waitFor(async () => (await runs()).filter(({ status }) => status === 'succeeded').length === count, {
        what: `${count} runs`,
        timeout_ms: 40_000,
      });
    await ended(1);
    const workspace = await api.call<Workspace>('GET', here);
    expect(workspace).toMatchObject({ state: 'ready', commit_count: 1, check_status: 'failed' });
    const [file] = await api.call<WorkspaceDiff[]>('GET', `${here}/diff`);
    expect(file).toMatchObject({ path: 'src/cart.ts', patch: expect.stringContaining('+TWO') });

    // A person reads it, says what is wrong with a line, and sends it back.
    await api.call<ReviewComment>('POST', `/api/issues/${issue.id}/review-comments`, {
      path: 'src/cart.ts',
      line: 2,
      line_text: 'TWO',
      body_markdown: 'No need to shout.',
    });
    await api.call('POST', `${here}/review`, { verdict: 'request_changes' });
    const home = path.join(folder, 'home', 'companies', team.company_id, 'agents', team.agents[0]!.id);
    const journal = async () => fakeCliJournal(home);
    await waitFor(async () => (await journal()).length === 2, {
      what: 'the second call',
      timeout_ms: 30_000,
    });
    expect((await journal())[1]!.stdin).toContain('No need to shout.');
    first.kill('SIGKILL');
    await startScheduler();
    await ended(2);
    expect(await api.call<Workspace>('GET', here)).toMatchObject({ check_status: 'passed', error: null });

    const act = async (name: string, body: object) => {
      const { id } = await api.call<WorkspaceAction>('POST', `${here}/${name}`, body);
      return waitFor(
        async () => {
          const acts = await api.call<WorkspaceAction[]>('GET', `${here}/actions`);
          const found = acts.find((each) => each.id === id)!;
          return found.status === 'done' || found.status === 'failed' ? found : false;
        },
        { what: name, timeout_ms: 30_000 },
      );
    };
    expect(await act('pull-request', {})).toMatchObject({ status: 'done', error: null });
    const [product] = await api.call<WorkProduct[]>('GET', `/api/issues/${issue.id}/work-products`);
    expect(product).toMatchObject({ type: 'pull_request', status: 'active', provider: 'github' });

    // Somebody approves it over there, of which the host says a word.
    const hook = await api.call<NewRepositoryWebhook>(
      'POST',
      `/api/projects/${issue.project_id}/repository-webhook`,
    );
    github.reviews.push({ state: 'APPROVED', user: { login: 'mary' } });
    const news = JSON.stringify({ pull_request: { head: { ref: workspace.branch } } });
    await fetch(`${web.url}/api/repository-webhooks/${hook.public_id}`, {
      method: 'POST',
      headers: { 'x-hub-signature-256': await sign(hook.secret, news), 'content-type': 'application/json' },
      body: news,
    });
    await waitFor(async () => (await api.call<Workspace>('GET', here)).review_state === 'approved', {
      what: 'the approval',
      timeout_ms: 10_000,
    });
    expect(await act('merge', {})).toMatchObject({ status: 'done', error: null });
    await waitFor(async () => (await api.call<Issue>('GET', `/api/issues/${issue.id}`)).status === 'done', {
      what: 'the end of the issue',
    });
    expect(await server.git('show', 'main:src/cart.ts')).toBe('one\nTwo\nthree\nhalf of it');
    expect(github.complaints).toEqual([]);
  });
});
