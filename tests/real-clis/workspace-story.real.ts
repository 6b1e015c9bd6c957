// The whole story of a branch with the vendors' own programs, over two tiers: an issue, its branch, commits, a comment on a
// line, a second run, a pull request, its merge, and the issue done.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type {
  Issue,
  NewRepositoryWebhook,
  Run,
  Workspace,
  WorkspaceAction,
  WorkspaceDiff,
  WorkProduct,
} from '@acp/contract';
import {
  cloneDatabase,
  type FakeGithubPulls,
  type FakeVendorModel,
  type GitServer,
  killServices,
  type ServiceProcess,
  startFakeGithubPulls,
  startFakeVendorModel,
  startGitServer,
  startService,
  type VendorAnswer,
  waitFor,
} from '@acp/testkit';
import { sign } from '@octokit/webhooks-methods';
import { type Api, baseEnv, createTeam, signIn } from '../process/api.ts';

type Kind = 'a' | 'b';

const bin = path.join(process.env.REAL_CLIS_FOLDER ?? '', 'node_modules/.bin');
const TOKEN = 'correct-horse-battery';

let folder: string;
let server: GitServer;
let github: FakeGithubPulls;
let model: FakeVendorModel;
let web: ServiceProcess;
let api: Api;
/** What the model says next, whoever asks. */
const answers: VendorAnswer[] = [];

beforeAll(async () => {
  const db = await cloneDatabase('real_story');
  folder = await mkdtemp('/var/tmp/real-story-');
  server = await startGitServer({ 'src/cart.ts': 'one\ntwo\nthree\n' }, { password: TOKEN });
  github = await startFakeGithubPulls(
    async (branch) => server.git('rev-parse', branch),
    async (base, head) => void (await server.git('update-ref', `refs/heads/${base}`, `refs/heads/${head}`)),
  );
  model = await startFakeVendorModel(() => answers.shift() ?? 'Done.');
  const settings = [
    'model_provider="fake"',
    'model_providers.fake.name="fake"',
    `model_providers.fake.base_url="${model.url}/v1"`,
    'model_providers.fake.wire_api="responses"',
    'model_providers.fake.env_key="FAKE_KEY"',
  ];
  const env = {
    ...baseEnv,
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_ENCRYPTION_KEY: 'a'.repeat(64),
    SERVICE_CLI_A_COMMAND: path.join(bin, 'claude'),
    SERVICE_CLI_B_COMMAND: [path.join(bin, 'codex'), ...settings.flatMap((each) => ['-c', `'${each}'`])].join(
      ' ',
    ),
    SERVICE_CLI_ENV_PASSTHROUGH: 'ANTHROPIC_API_KEY,ANTHROPIC_BASE_URL,FAKE_KEY',
    ANTHROPIC_API_KEY: 'key-of-a',
    ANTHROPIC_BASE_URL: model.url,
    FAKE_KEY: 'key-of-b',
    SERVICE_LOCAL_CLI_EGRESS: new URL(model.url).host,
    SERVICE_REPOSITORY_HOSTS: server.host,
    SERVICE_REPOSITORY_APIS: `${server.host}=github:${github.url}`,
  };
  web = await startService({ ...env, SERVICE_ROLE: 'web' });
  api = await signIn(web);
  await startService({ ...env, SERVICE_ROLE: 'scheduler' });
});

afterAll(async () => {
  await killServices();
  await Promise.all([server.close(), github.close(), model.close()]);
  await rm(folder, { recursive: true, force: true });
});

async function assign(kind: Kind): Promise<Issue> {
  const team = await createTeam(api, ['Ada'], {
    adapter_type: `cli_${kind}_local`,
    adapter_config: { model: 'fake-model' },
  });
  const of = `/api/companies/${team.company_id}`;
  await api.call('POST', `${of}/secrets`, { name: 'GIT_TOKEN', value: TOKEN });
  const project = await api.call<{ id: string }>('POST', `${of}/projects`, {
    name: 'Shop',
    repo_url: server.url,
    repo_secret: 'GIT_TOKEN',
    check_command: 'cat src/cart.ts',
  });
  return api.call<Issue>('POST', `${of}/issues`, {
    title: `Fix the cart, ${kind}`,
    project_id: project.id,
    assignee_agent_id: team.agents[0]!.id,
  });
}

describe.each<Kind>(['a', 'b'])('an issue in the hands of the real CLI %s', (kind) => {
  it('becomes a branch, a review, a second run, a pull request, and done by its merge', async () => {
    const [from, shout, word] = kind === 'a' ? ['two', 'TWO', 'Two'] : ['three', 'THREE', 'Three'];
    github.pulls.length = 0;
    github.reviews.length = 0;
    answers.push({ command: `sed -i s/${from}/${shout}/ src/cart.ts && git commit -qam Louder` }, 'Done.');
    const issue = await assign(kind);
    const here = `/api/issues/${issue.id}/workspace`;
    const ended = async (count: number) =>
      waitFor(
        async () => {
          const list = `/api/companies/${issue.company_id}/heartbeat-runs?issueId=${issue.id}`;
          const runs = await api.call<Run[]>('GET', list);
          const bad = runs.find(({ status }) => status === 'failed');
          if (bad !== undefined) throw new Error(`a run failed: ${bad.error}`);
          return runs.filter(({ status }) => status === 'succeeded').length === count;
        },
        { what: `${count} runs`, timeout_ms: 60_000 },
      );
    await ended(1);
    const [file] = await api.call<WorkspaceDiff[]>('GET', `${here}/diff`);
    expect(file).toMatchObject({ path: 'src/cart.ts', patch: expect.stringContaining(`+${shout}`) });

    const remark = { path: 'src/cart.ts', line: 2, line_text: shout, body_markdown: `No shouting, ${kind}.` };
    await api.call('POST', `/api/issues/${issue.id}/review-comments`, remark);
    answers.push({ command: `sed -i s/${shout}/${word}/ src/cart.ts && git commit -qam Softer` }, 'Done.');
    await api.call('POST', `${here}/review`, { verdict: 'request_changes' });
    await ended(2);
    expect(JSON.stringify(model.requests.at(-1)!.body)).toContain(`No shouting, ${kind}.`);
    const workspace = await api.call<Workspace>('GET', here);
    expect(workspace).toMatchObject({
      commit_count: 2,
      check_status: 'passed',
      check_output: expect.stringContaining(word),
    });

    const act = async (name: string) => {
      const { id } = await api.call<WorkspaceAction>('POST', `${here}/${name}`, {});
      return waitFor(
        async () => {
          const acts = await api.call<WorkspaceAction[]>('GET', `${here}/actions`);
          const found = acts.find((each) => each.id === id)!;
          return found.status === 'done' || found.status === 'failed' ? found : false;
        },
        { what: name, timeout_ms: 30_000 },
      );
    };
    const hook = await api.call<NewRepositoryWebhook>(
      'POST',
      `/api/projects/${issue.project_id}/repository-webhook`,
    );
    expect(await act('pull-request')).toMatchObject({ status: 'done', error: null });
    // Merged by a person over there, of which the host says a word.
    await server.git('update-ref', 'refs/heads/main', `refs/heads/${workspace.branch}`);
    Object.assign(github.pulls[0]!, { state: 'closed', merged_at: new Date().toISOString() });
    const news = JSON.stringify({ action: 'closed', pull_request: { head: { ref: workspace.branch } } });
    const told = await fetch(`${web.url}/api/repository-webhooks/${hook.public_id}`, {
      method: 'POST',
      headers: { 'x-hub-signature-256': await sign(hook.secret, news), 'content-type': 'application/json' },
      body: news,
    });
    expect(await told.json()).toEqual({ status: 'noted' });
    await waitFor(async () => (await api.call<Issue>('GET', `/api/issues/${issue.id}`)).status === 'done', {
      what: 'the end of the issue',
      timeout_ms: 20_000,
    });
    const [product] = await api.call<WorkProduct[]>('GET', `/api/issues/${issue.id}/work-products`);
    expect(product).toMatchObject({ type: 'pull_request', status: 'merged' });
    expect(await server.git('show', 'main:src/cart.ts')).toContain(word);
    expect(github.complaints).toEqual([]);
  }, 180_000);
});
