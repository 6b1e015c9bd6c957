/** A service that wants its workers approved, and workers run as an operator would. */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  cloneDatabase,
  type FakeModel,
  type ServiceProcess,
  spawnWorker,
  startFakeModel,
  startService,
  waitFor,
} from '@acp/testkit';
import { type Api, baseEnv, createTeam, signIn } from './api.ts';

interface WorkerSeen {
  id: string;
  name: string;
  status: string;
  tags: string[];
  running: number;
}

export interface Issue {
  id: string;
  status: string;
}

export class FleetStage {
  readonly #env: Record<string, string>;
  /** Of everything here; removed at the end. */
  readonly folder: string;
  readonly model: FakeModel;
  service: ServiceProcess;
  api: Api;

  private constructor(
    folder: string,
    model: FakeModel,
    service: ServiceProcess,
    api: Api,
    env: Record<string, string>,
  ) {
    this.folder = folder;
    this.model = model;
    this.service = service;
    this.api = api;
    // Keeps the same address after a restart.
    this.#env = { ...env, PORT: new URL(service.url).port };
  }

  static async set(): Promise<FleetStage> {
    const folder = await mkdtemp('/var/tmp/fleet-test-');
    const model = await startFakeModel({ script: () => 'Done.\n/status done' });
    const env = {
      ...baseEnv,
      DATABASE_URL: (await cloneDatabase('fleet')).url,
      SERVICE_HOME: path.join(folder, 'service'),
      SERVICE_REQUIRE_WORKER_APPROVAL: 'true',
    };
    const service = await startService(env);
    return new FleetStage(folder, model, service, await signIn(service), env);
  }

  async restart(): Promise<void> {
    this.service = await startService(this.#env);
    this.api = await signIn(this.service);
  }

  async strike(): Promise<void> {
    await this.service.stop();
    await this.model.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  worker(name: string, tags: string, key: string, more: Record<string, string> = {}): ServiceProcess {
    return spawnWorker({
      SERVICE_SERVER_URL: this.service.url,
      SERVICE_WORKER_KEY: key,
      SERVICE_WORKER_NAME: name,
      SERVICE_WORKER_TAGS: tags,
      SERVICE_WORKER_POLL_SEC: '0.2',
      SERVICE_HOME: path.join(this.folder, 'workers'),
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_MODEL: name,
      SERVICE_DEFAULT_LLM_BASE_URL: this.model.url,
      SERVICE_DRAIN_TIMEOUT_SEC: '20',
      ...more,
    });
  }

  async seen(name: string): Promise<WorkerSeen | undefined> {
    const fleet = await this.api.call<WorkerSeen[]>('GET', '/api/admin/workers');
    return fleet.find((worker) => worker.name === name);
  }

  async act(name: string, verb: string): Promise<WorkerSeen> {
    const { id } = (await this.seen(name))!;
    return this.api.call<WorkerSeen>('POST', `/api/admin/workers/${id}/${verb}`);
  }

  /** @returns the worker's key */
  async provision(name: string, tags: string[]): Promise<string> {
    return (await this.api.call<{ api_key: string }>('POST', '/api/admin/workers', { name, tags })).api_key;
  }

  /** Creates an agent whose tasks require the tags, and a function that gives it work. */
  async agentFor(tags: string[]): Promise<(title: string) => Promise<Issue>> {
    const adapter_config = { tags, timeout_seconds: 300 };
    const team = await createTeam(this.api, ['Ada'], { adapter_type: 'remote', adapter_config });
    return async (title) =>
      this.api.call<Issue>('POST', `/api/companies/${team.company_id}/issues`, {
        title,
        assignee_agent_id: team.agents[0]!.id,
      });
  }

  async done({ id }: Issue, timeout_ms = 30_000): Promise<void> {
    await waitFor(async () => (await this.api.call<Issue>('GET', `/api/issues/${id}`)).status === 'done', {
      timeout_ms,
      what: 'the issue to be done',
    });
  }

  /** The issue's comments once its run has finished. */
  async comments({ id }: Issue): Promise<unknown[]> {
    return waitFor(
      async () => {
        const found = await this.api.call<unknown[]>('GET', `/api/issues/${id}/comments`);
        return found.length > 0 ? found : false;
      },
      { what: 'a comment' },
    );
  }
}
