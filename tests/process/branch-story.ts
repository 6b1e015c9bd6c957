/** The stage of a branch's story: a git server, a stand-in for its host, both tiers, and a person's acts over HTTP. */
import type {
  Issue,
  NewRepositoryWebhook,
  Run,
  ReviewComment,
  WorkProduct,
  WorkspaceAction,
  WorkspaceDiff,
} from '@acp/contract';
import {
  cloneDatabase,
  type FakeGithubPulls,
  type GitServer,
  killServices,
  type ServiceProcess,
  startFakeGithubPulls,
  startGitServer,
  startService,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { sign } from '@octokit/webhooks-methods';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Api, baseEnv, createTeam, signIn } from './api.ts';
import { type HeldDoor, openDoor } from './held-door.ts';

const TOKEN = 'correct-horse-battery';

export interface BranchStory {
  db: TestDatabase;
  /** Parent of everything that the story writes to disk. */
  folder: string;
  server: GitServer;
  github: FakeGithubPulls;
  /** In front of the two. */
  doors: { git: HeldDoor; host: HeldDoor };
  web: ServiceProcess;
  api: Api;
  startScheduler(): Promise<ServiceProcess>;
  close(): Promise<void>;
}

/** Starts it without a scheduler. @param envOf additional environment of both tiers */
export async function stageBranchStory(
  name: string,
  envOf: (folder: string) => Promise<Record<string, string>>,
): Promise<BranchStory> {
  const db = await cloneDatabase(name);
  const folder = await mkdtemp('/var/tmp/branch-story-');
  const server = await startGitServer({ 'src/cart.ts': 'one\ntwo\nthree\n' }, { password: TOKEN });
  const github = await startFakeGithubPulls(
    async (branch) => server.git('rev-parse', branch),
    async (base, head) => void (await server.git('update-ref', `refs/heads/${base}`, `refs/heads/${head}`)),
  );
  const doors = { git: await openDoor(new URL(server.url).origin), host: await openDoor(github.url) };
  const git_host = new URL(doors.git.url).host;
  const env = {
    ...baseEnv,
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_ENCRYPTION_KEY: 'a'.repeat(64),
    SERVICE_REPOSITORY_HOSTS: git_host,
    SERVICE_REPOSITORY_APIS: `${git_host}=github:${doors.host.url}`,
    ...(await envOf(folder)),
  };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  return {
    db,
    folder,
    server,
    github,
    doors,
    web,
    api: await signIn(web),
    startScheduler: async () => startService({ ...env, SERVICE_ROLE: 'scheduler' }),
    close: async () => {
      await killServices();
      await Promise.all([server, github, doors.git, doors.host].map(async (each) => each.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type ActName = 'pull-request' | 'merge' | 'push';

/** An issue of the repository's project, and the requests about it. */
export class StoryIssue {
  readonly issue: Issue;
  /** Home of its agent. */
  readonly home: string;
  /** Where the agent works. */
  readonly tree: string;
  readonly #story: BranchStory;

  private constructor(story: BranchStory, issue: Issue) {
    this.#story = story;
    this.issue = issue;
    const { id, company_id, assignee_agent_id } = issue;
    const company = path.join(story.folder, 'home/companies', company_id);
    this.home = path.join(company, 'agents', assignee_agent_id ?? '');
    this.tree = path.join(company, 'workspaces', id, 'tree');
  }

  /** Creates it in a new company, assigned to a new agent. */
  static async assign(story: BranchStory, agent: object, check_command: string): Promise<StoryIssue> {
    const { api, server, doors } = story;
    const team = await createTeam(api, ['Ada'], agent);
    const of = `/api/companies/${team.company_id}`;
    await api.call('POST', `${of}/secrets`, { name: 'GIT_TOKEN', value: TOKEN });
    const project = await api.call<{ id: string }>('POST', `${of}/projects`, {
      name: 'Shop',
      repo_url: doors.git.url + new URL(server.url).pathname,
      repo_secret: 'GIT_TOKEN',
      check_command,
    });
    const body = {
      title: 'Fix the cart',
      project_id: project.id,
      assignee_agent_id: team.agents[0]!.id,
    };
    return new StoryIssue(story, await api.call<Issue>('POST', `${of}/issues`, body));
  }

  get workspace(): string {
    return `/api/issues/${this.issue.id}/workspace`;
  }

  /** Waits for that many successful runs; no other may fail in the meantime, unless it was lost with its scheduler. */
  async ended(count: number): Promise<void> {
    const list = `/api/companies/${this.issue.company_id}/heartbeat-runs?issueId=${this.issue.id}`;
    const all = async () => {
      const runs = await this.#story.api.call<Run[]>('GET', list);
      const bad = runs.find(({ status, error }) => status === 'failed' && !error?.startsWith('run lost'));
      if (bad !== undefined) throw new Error(`a run failed: ${bad.error}`);
      return runs.filter(({ status }) => status === 'succeeded').length === count;
    };
    await waitFor(all, { what: `${count} runs`, timeout_ms: 60_000 });
  }

  async diff(): Promise<WorkspaceDiff[]> {
    return this.#story.api.call('GET', `${this.workspace}/diff`);
  }

  /** Comments on a line, and sends the issue back. */
  async sendBack(line_text: string, body_markdown: string): Promise<void> {
    const { api } = this.#story;
    const remark = { path: 'src/cart.ts', line: 2, line_text, body_markdown };
    await api.call<ReviewComment>('POST', `/api/issues/${this.issue.id}/review-comments`, remark);
    await api.call('POST', `${this.workspace}/review`, { verdict: 'request_changes' });
  }

  /** @returns the finished action */
  async act(name: ActName): Promise<WorkspaceAction> {
    return this.finished(await this.request(name));
  }

  async request(name: ActName): Promise<WorkspaceAction> {
    return this.#story.api.call('POST', `${this.workspace}/${name}`, {});
  }

  async finished({ id, kind }: WorkspaceAction): Promise<WorkspaceAction> {
    const { api } = this.#story;
    return waitFor(
      async () => {
        const acts = await api.call<WorkspaceAction[]>('GET', `${this.workspace}/actions`);
        const found = acts.find((each) => each.id === id)!;
        return found.status === 'done' || found.status === 'failed' ? found : false;
      },
      { what: kind },
    );
  }

  /** @returns a function that sends a branch's update to the service in the host's name, and returns the response */
  async openWebhook(): Promise<(news: object) => Promise<unknown>> {
    const { api, web } = this.#story;
    const hook = await api.call<NewRepositoryWebhook>(
      'POST',
      `/api/projects/${this.issue.project_id}/repository-webhook`,
    );
    return async (news) => {
      const body = JSON.stringify(news);
      const signature = await sign(hook.secret, body);
      const told = await fetch(`${web.url}/api/repository-webhooks/${hook.public_id}`, {
        method: 'POST',
        headers: { 'x-hub-signature-256': signature, 'content-type': 'application/json' },
        body,
      });
      return told.json();
    };
  }

  async product(): Promise<WorkProduct | undefined> {
    const at = `/api/issues/${this.issue.id}/work-products`;
    return (await this.#story.api.call<WorkProduct[]>('GET', at))[0];
  }

  async done(): Promise<void> {
    const at = `/api/issues/${this.issue.id}`;
    const isDone = async () => (await this.#story.api.call<Issue>('GET', at)).status === 'done';
    await waitFor(isDone, { what: 'the end of the issue' });
  }
}
