/** Real workers on a real service, run as an operator would, and the fate of tasks when either side fails. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
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

interface Issue {
  id: string;
  status: string;
}

let folder: string;
let model: FakeModel;
let service: ServiceProcess;
let env: Record<string, string>;
let api: Api;

beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/fleet-test-');
  model = await startFakeModel({ script: () => 'Done.\n/status done' });
  env = {
    ...baseEnv,
    DATABASE_URL: (await cloneDatabase('fleet')).url,
    SERVICE_HOME: path.join(folder, 'service'),
    SERVICE_REQUIRE_WORKER_APPROVAL: 'true',
  };
  service = await startService(env);
  // Keeps the same address after a restart.
  env.PORT = new URL(service.url).port;
  api = await signIn(service);
});
afterAll(async () => {
  await service.stop();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

function start(name: string, tags: string, key: string, more: Record<string, string> = {}): ServiceProcess {
  return spawnWorker({
    SERVICE_SERVER_URL: service.url,
    SERVICE_WORKER_KEY: key,
    SERVICE_WORKER_NAME: name,
    SERVICE_WORKER_TAGS: tags,
    SERVICE_WORKER_POLL_SEC: '0.2',
    SERVICE_HOME: path.join(folder, 'workers'),
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: name,
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    SERVICE_DRAIN_TIMEOUT_SEC: '20',
    ...more,
  });
}

const fleet = async () => api.call<WorkerSeen[]>('GET', '/api/admin/workers');
const seen = async (name: string) => (await fleet()).find((worker) => worker.name === name);
const act = async (name: string, verb: string) => {
  const { id } = (await seen(name))!;
  return api.call<WorkerSeen>('POST', `/api/admin/workers/${id}/${verb}`);
};
const provision = async (name: string, tags: string[]) =>
  (await api.call<{ api_key: string }>('POST', '/api/admin/workers', { name, tags })).api_key;

/** Creates an agent whose tasks require the tags, and a function that gives it work. */
async function agentFor(tags: string[], config: object = {}) {
  const adapter_config = { tags, timeout_seconds: 300, ...config };
  const { company_id, agents } = await createTeam(api, ['Ada'], { adapter_type: 'remote', adapter_config });
  return async (title: string): Promise<Issue> =>
    api.call<Issue>('POST', `/api/companies/${company_id}/issues`, {
      title,
      assignee_agent_id: agents[0]!.id,
    });
}
const done = async ({ id }: Issue, timeout_ms = 30_000) =>
  waitFor(async () => (await api.call<Issue>('GET', `/api/issues/${id}`)).status === 'done', {
    timeout_ms,
    what: 'the issue to be done',
  });
/** The issue's comments once its run has finished. */
const comments = async ({ id }: Issue) =>
  waitFor(
    async () => {
      const found = await api.call<unknown[]>('GET', `/api/issues/${id}/comments`);
      return found.length > 0 ? found : false;
    },
    { what: 'a comment' },
  );

describe('two workers on one machine', () => {
  it('get the tasks of their tags; one is approved first, the other drained', async () => {
    const before = model.requests.length;
    const modelsAsked = () => new Set(model.requests.slice(before).map((request) => request.model));
    const gpu = start('gpu', 'gpu,linux', await provision('gpu', ['gpu', 'linux']));
    const plain = start('plain', 'linux', 'a-secret-of-the-operator');
    await gpu.logged('enlisted');
    await plain.logged('waiting for the approval of an admin');
    const forGpu = await agentFor(['gpu']);
    const first = await forGpu('Train it');
    await done(first);
    expect(await comments(first)).toHaveLength(1);
    expect(modelsAsked()).toEqual(new Set(['gpu']));
    expect(await seen('plain')).toMatchObject({ status: 'pending_approval', tags: ['linux'] });
    await act('plain', 'approve');
    await plain.logged('enlisted');
    await act('gpu', 'drain');
    const forLinux = await agentFor(['linux']);
    await done(await forLinux('Build it'));
    expect(modelsAsked()).toEqual(new Set(['gpu', 'plain']));
    const waiting = await forGpu('Train it again');
    const queued = async () =>
      (await api.call<{ queued: number }>('GET', '/api/admin/workers/queue-stats')).queued;
    await waitFor(async () => (await queued()) === 1, { what: 'a queued task' });
    await act('gpu', 'undrain');
    await done(waiting);
    expect(await Promise.all([gpu.stop(), plain.stop()])).toEqual(
      [0, 0].map((code) => ({ code, signal: null })),
    );
  });
});

/** A connection to the service that can be cut in the middle of a response. */
async function openCable(url: string) {
  const { port } = new URL(url);
  const sockets = new Set<Socket>();
  let cutAt: RegExp | null = null;
  let cuts = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    let cutting = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    near.on('data', (chunk: Buffer) => {
      if (cutAt?.test(chunk.toString('latin1')) === true) {
        cutting = true;
        cutAt = null;
      }
      far.write(chunk);
    });
    far.on('data', (chunk: Buffer) => {
      // The service has handled it, but the response never arrives.
      if (cutting) {
        cuts += 1;
        near.destroy();
        far.destroy();
      } else near.write(chunk);
    });
    near.on('end', () => far.end());
    far.on('end', () => near.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAnswerTo: (request: RegExp) => (cutAt = request),
    cuts: () => cuts,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('a task', () => {
  it('whose result is cut off on its way is counted once, whatever the worker’s clock says', async () => {
    const cable = await openCable(service.url);
    const clock = path.join(folder, 'clock.mjs');
    await writeFile(clock, 'const { now } = Date; Date.now = () => now() + 3 * 86_400_000;\n');
    const worker = start('skewed', '', await provision('skewed', ['skewed']), {
      SERVICE_SERVER_URL: cable.url,
      NODE_OPTIONS: `--import=${clock}`,
    });
    await worker.logged('enlisted');
    cable.cutAnswerTo(/^POST \S+\/complete /);
    const issue = await (await agentFor(['skewed']))('Report it');
    await done(issue);
    await worker.logged('the report of a task is delivered');
    expect(cable.cuts()).toBe(1);
    expect(await comments(issue)).toHaveLength(1);
    await worker.stop();
    cable.close();
  });

  it('of a worker that is killed is done by its next start, once', async () => {
    const key = await provision('mortal', ['mortal']);
    const silent = Promise.withResolvers<string>();
    model.setScript(async () => silent.promise);
    const before = model.count();
    const first = start('mortal', '', key);
    const issue = await (await agentFor(['mortal']))('Survive it');
    await waitFor(() => model.count() > before);
    first.kill('SIGKILL');
    await first.ended;
    model.setScript(() => 'Done after all.\n/status done');
    const second = start('mortal', '', key);
    // It takes a minute until the service notices that the claim is missing.
    await done(issue, 150_000);
    expect(await comments(issue)).toHaveLength(1);
    silent.resolve('too late');
    await second.stop();
  });

  it('is brought to its end by a fleet whose service was restarted meanwhile', async () => {
    const answer = Promise.withResolvers<string>();
    model.setScript(async () => answer.promise);
    const before = model.count();
    const workers = await Promise.all(
      ['one', 'two'].map(async (name) => start(name, '', await provision(name, ['steady']))),
    );
    const give = await agentFor(['steady']);
    const issue = await give('Outlive it');
    await waitFor(() => model.count() > before);
    await service.stop();
    answer.resolve('Done.\n/status done');
    service = await startService(env);
    api = await signIn(service);
    await done(issue, 60_000);
    await done(await give('And the next'), 60_000);
    expect(await comments(issue)).toHaveLength(1);
    for (const worker of workers) expect(await worker.stop()).toEqual({ code: 0, signal: null });
  });
});
