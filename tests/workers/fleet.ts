/** A web tier and a scheduler in this process, and workers that are plain HTTP clients. */
import type { RemoteTask, WorkerRegistration } from '@acp/contract';
import { createIssue, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { cloneDatabase, createAgent, type TestDatabase, testLogger, waitFor } from '@acp/testkit';
import { mkdtemp, rm } from 'node:fs/promises';
import { startScheduler } from '../../apps/scheduler/src/main.ts';
import { startWeb } from '../../apps/web/src/main.ts';
import { type Cast, createCast } from '../http/cast.ts';

export interface Answer<T = unknown> {
  status: number;
  body: T;
}

/** `Authorization` or `Cookie`. */
export type Who = Readonly<Record<string, string>>;

export interface TestWorker {
  id: string;
  key: string;
  call<T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T>>;
  claim(body?: unknown): Promise<RemoteTask | undefined>;
  heartbeat(running?: string[]): Promise<number>;
}

export class TestFleet {
  readonly kit: TestDatabase;
  readonly cast: Cast;
  readonly url: string;
  readonly #folder: string;
  readonly #stops: (() => Promise<void>)[] = [];

  static async start(label: string, env: Record<string, string> = {}): Promise<TestFleet> {
    const kit = await cloneDatabase(label);
    const folder = await mkdtemp('/var/tmp/fleet-test-');
    const { web, stop } = await openWeb(kit, folder, env);
    const fleet = new TestFleet(kit, await createCast(kit.database), web, folder);
    fleet.#stops.push(stop);
    return fleet;
  }

  private constructor(kit: TestDatabase, cast: Cast, url: string, folder: string) {
    this.kit = kit;
    this.cast = cast;
    this.url = url;
    this.#folder = folder;
  }

  /** Starts another web tier on the same database. @returns its URL */
  async anotherWeb(env: Record<string, string>): Promise<string> {
    const { web, stop } = await openWeb(this.kit, this.#folder, env);
    this.#stops.push(stop);
    return web;
  }

  /** @returns a function that stops it immediately */
  async startScheduler(env: Record<string, string> = {}): Promise<() => Promise<void>> {
    const config = configOf(this.kit, this.#folder, { SERVICE_DRAIN_TIMEOUT_SEC: '0', ...env });
    const scheduler = await startScheduler({ config, logger: testLogger() });
    let stopped: Promise<void> | undefined;
    const stop = async () => (stopped ??= scheduler.stop());
    this.#stops.push(stop);
    return stop;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.splice(0).toReversed()) await stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async call<T = unknown>(
    method: string,
    path: string,
    who: Who = {},
    body?: unknown,
    url = this.url,
  ): Promise<Answer<T>> {
    const response = await fetch(url + path, {
      method,
      headers: { ...who, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, body: (isJson ? JSON.parse(text) : text) as T };
  }

  async admin<T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    return this.call<T>(method, path, this.cast.instance_admin.headers, body);
  }

  async register(body: Record<string, unknown> = {}): Promise<TestWorker> {
    const path = '/api/workers/register';
    const { body: made } = await this.call<WorkerRegistration>(
      'POST',
      path,
      {},
      { name: 'w', tags: [], ...body },
    );
    return this.worker(made.worker_id, made.api_key ?? '');
  }

  worker(id: string, key: string): TestWorker {
    const who = { Authorization: `Bearer ${key}` };
    const call = async <T>(method: string, path: string, body?: unknown) =>
      this.call<T>(method, path, who, body);
    return {
      id,
      key,
      call,
      claim: async (body) => {
        const answer = await call<RemoteTask>('POST', '/api/workers/tasks/claim', body);
        if (answer.status !== 200 && answer.status !== 204)
          throw new Error(`claim: ${JSON.stringify(answer)}`);
        return answer.status === 200 ? answer.body : undefined;
      },
      heartbeat: async (running) =>
        (await call('POST', '/api/workers/heartbeat', running === undefined ? undefined : { running }))
          .status,
    };
  }

  /** Polls until it gets a task. */
  async claimed(worker: TestWorker): Promise<RemoteTask> {
    return waitFor(async () => worker.claim(), { what: 'a task' });
  }

  /** Creates a remote agent with an issue, and wakes it. */
  async work(adapter_config: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
    const { company_id } = this.cast;
    const agent = await createAgent(
      this.kit.database.db,
      { id: company_id },
      { name: `Remote ${crypto.randomUUID()}`, adapter_type: 'remote', adapter_config, ...more },
    );
    const issue = await transaction(this.kit.database, async (tx) =>
      createIssue(tx, systemActor('tests'), company_id, {
        title: 'Paint the shed',
        assignee_agent_id: agent.id,
      }),
    );
    const path = `/api/agents/${agent.id}/heartbeat/invoke`;
    const { body: run } = await this.call<{ id: string }>('POST', path, this.cast.member.headers);
    return { agent, issue, run_id: run.id };
  }

  async run(id: string): Promise<Record<string, unknown>> {
    const { body } = await this.call<Record<string, unknown>>(
      'GET',
      `/api/heartbeat-runs/${id}`,
      this.cast.member.headers,
    );
    return body;
  }

  async ended(id: string): Promise<Record<string, unknown>> {
    return waitFor(
      async () => {
        const run = await this.run(id);
        return ['succeeded', 'failed', 'cancelled'].includes(String(run.status)) && run;
      },
      { what: 'the end of the run' },
    );
  }
}

function configOf(kit: TestDatabase, folder: string, env: Record<string, string>) {
  return loadConfig({
    DATABASE_URL: kit.url,
    PORT: '0',
    RATE_LIMIT_RPM: '0',
    SERVICE_HOME: folder,
    SERVICE_PUBLIC_URL: 'http://service.example',
    SERVICE_DRAIN_TIMEOUT_SEC: '1',
    ...env,
  });
}

async function openWeb(kit: TestDatabase, folder: string, env: Record<string, string>) {
  const web = await startWeb({ config: configOf(kit, folder, env), logger: testLogger() });
  return { web: web.url, stop: async () => web.stop() };
}
