/**
 * The service as remote workers see it: registration, queue, claims and results over HTTP. Requests of a worker are checked
 * against the contract's schemas and recorded in the journal. Tests of the service itself use the service.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ClaimTask,
  createValidator,
  FailTask,
  PROMPT_VERSION,
  RegisterWorker,
  TaskEvents,
  type TaskPayload,
  TaskResult,
  WorkerHeartbeat,
  type WorkerStatus,
} from '@acp/contract';
import { newApiKey, newId, ServiceError } from '@acp/kernel';

export interface FakeTask {
  id: string;
  payload: TaskPayload;
  status: 'queued' | 'claimed' | 'completed' | 'failed';
  claims: number;
  cancel: boolean;
  result: TaskResult | null;
  error: string | null;
  events: TaskEvents['events'];
}

export interface FakeControlPlaneRequest {
  route: string;
  task_id: string | null;
  body: Record<string, unknown>;
  /** The status sent; null if the connection was cut. */
  status: number | null;
}

/** Replaces the response to a request; `cut`: the request takes effect, but the connection closes without a response. */
export type Fault = { cut: true } | { status: number; error?: string };

export interface FakeControlPlane {
  url: string;
  /** The worker's state, as set by admins. */
  status: WorkerStatus;
  /** Known keys; an unknown key registers a new worker. */
  keys: Set<string>;
  readonly requests: readonly FakeControlPlaneRequest[];
  readonly tasks: readonly FakeTask[];
  queue(payload: TaskPayload): FakeTask;
  /** Applies the faults to the next requests of the route, one each. */
  disturb(route: string, ...faults: Fault[]): void;
  /** Cancels the route's pending faults. */
  calm(route: string): void;
  /** Shuts down as if the machine were gone; `start` brings it back under the same address. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const bodies = {
  register: createValidator(RegisterWorker, 'body'),
  heartbeat: createValidator(WorkerHeartbeat, 'body'),
  claim: createValidator(ClaimTask, 'body'),
  complete: createValidator(TaskResult, 'body'),
  fail: createValidator(FailTask, 'body'),
  events: createValidator(TaskEvents, 'body'),
};

type Answer = { status: number; body?: unknown };

class Plane implements FakeControlPlane {
  url = '';
  status: WorkerStatus = 'approved';
  readonly keys = new Set<string>();
  readonly requests: FakeControlPlaneRequest[] = [];
  readonly tasks: FakeTask[] = [];
  readonly #worker_id = newId();
  readonly #faults = new Map<string, Fault[]>();
  #server: Server | undefined;
  #port = 0;

  queue(payload: TaskPayload): FakeTask {
    const task: FakeTask = {
      id: newId(),
      payload,
      status: 'queued',
      claims: 0,
      cancel: false,
      result: null,
      error: null,
      events: [],
    };
    this.tasks.push(task);
    return task;
  }

  disturb(route: string, ...faults: Fault[]): void {
    this.#faults.set(route, [...(this.#faults.get(route) ?? []), ...faults]);
  }

  calm(route: string): void {
    this.#faults.delete(route);
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request);
    const parts = (request.url ?? '').replace(/^\/api\/workers\//, '').split('/');
    const task_id = parts[0] === 'tasks' && parts.length === 3 ? parts[1]! : null;
    const route = parts.at(-1) ?? '';
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const key = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const fault = this.#faults.get(route)?.shift();
    const entry: FakeControlPlaneRequest = { route, task_id, body, status: null };
    this.requests.push(entry);
    let answer: Answer;
    if (fault !== undefined && 'status' in fault) answer = refusal(fault.status, fault.error ?? 'disturbed');
    else answer = this.#answer(route, task_id, body, key);
    if (fault !== undefined && 'cut' in fault) {
      request.socket.destroy();
      return;
    }
    entry.status = answer.status;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  }

  #answer(route: string, task_id: string | null, body: Record<string, unknown>, key: string): Answer {
    try {
      if (route === 'register') return this.#register(body, key);
      if (!this.keys.has(key)) return refusal(401, 'invalid api key');
      if (!['approved', 'draining'].includes(this.status)) return refusal(403, `worker is ${this.status}`);
      if (route === 'heartbeat') {
        bodies.heartbeat(body);
        return { status: 204 };
      }
      if (route === 'claim') return this.#claim(body);
      const task = this.tasks.find(({ id }) => id === task_id);
      return task === undefined || task.claims === 0
        ? refusal(404, 'not found')
        : this.#onTask(route, task, body);
    } catch (err) {
      if (err instanceof ServiceError) return refusal(400, err.message);
      throw err;
    }
  }

  #register(body: Record<string, unknown>, key: string): Answer {
    const { tags = [] } = bodies.register(body);
    if (this.status === 'rejected') return refusal(403, 'worker is rejected');
    const known = this.keys.has(key);
    const api_key = known ? undefined : newApiKey();
    if (api_key !== undefined) this.keys.add(api_key);
    const prompt =
      this.status === 'pending_approval'
        ? {}
        : { tags, operating_prompt: 'Operating contract.', prompt_version: PROMPT_VERSION };
    return {
      status: known ? 200 : 201,
      body: { worker_id: this.#worker_id, status: this.status, api_key, ...prompt },
    };
  }

  #claim(body: Record<string, unknown>): Answer {
    bodies.claim(body);
    const task =
      this.status === 'draining' ? undefined : this.tasks.find(({ status }) => status === 'queued');
    if (task === undefined) return { status: 204 };
    task.status = 'claimed';
    task.claims += 1;
    const { id, payload } = task;
    const now = new Date();
    return {
      status: 200,
      body: {
        id,
        heartbeat_run_id: payload.run_id,
        agent_id: payload.agent_id,
        company_id: payload.company_id,
        worker_id: this.#worker_id,
        tags_required: [],
        payload,
        status: 'claimed',
        claimed_at: now,
        completed_at: null,
        result: null,
        error: null,
        created_at: now,
      },
    };
  }

  #onTask(route: string, task: FakeTask, body: Record<string, unknown>): Answer {
    switch (route) {
      case 'control':
        return { status: 200, body: { cancel: task.cancel } };
      case 'events':
        task.events.push(...bodies.events(body).events);
        return { status: 204 };
      case 'complete':
        if (task.status === 'failed' || task.cancel) return refusal(409, 'the task has ended');
        task.result = bodies.complete(body);
        task.status = 'completed';
        return { status: 204 };
      case 'fail':
        task.error = bodies.fail(body).error;
        task.status = 'failed';
        return { status: 204 };
      default:
        return refusal(404, 'not found');
    }
  }
}

function refusal(status: number, error: string): Answer {
  return { status, body: { error } };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export async function startFakeControlPlane(): Promise<FakeControlPlane> {
  const plane = new Plane();
  await plane.start();
  return plane;
}

/** A task payload as the service builds it for an agent without an issue, with the given fields overridden. */
export function fakeTaskPayload(given: Partial<TaskPayload> = {}): TaskPayload {
  return {
    run_id: newId(),
    agent_id: newId(),
    agent_name: 'Ada',
    agent_role: 'engineer',
    company_id: newId(),
    company_name: 'Acme',
    adapter_type: 'remote',
    adapter_config: {},
    system_prompt: 'You are thorough.',
    wake_reason: 'manual',
    ...given,
  };
}
