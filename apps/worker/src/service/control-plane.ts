import {
  createValidator,
  RemoteTask,
  TaskControl,
  WorkerRegistration,
  type RegisterWorker,
  type TaskResult,
} from '@acp/contract';
import {
  type Answer,
  exchange,
  ExchangeFailure,
  isNestedDeeper,
  MAX_JSON_DEPTH,
  ServiceError,
} from '@acp/kernel';

/** An entry of a transcript, as this worker sends it. */
export interface TaskEvent {
  kind: string;
  payload: Record<string, unknown>;
}

/** The service responded with an error; the message is the service's. */
export class Refusal extends Error {
  readonly status: number;
  /** Requested delay before a retry. */
  readonly retry_after_ms: number | null;

  constructor(status: number, message: string, retry_after_ms: number | null = null) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.retry_after_ms = retry_after_ms;
  }

  /** Whether the same request may succeed later. */
  get passing(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

/** No response: a network failure, or the service is down. */
export class Unreachable extends Error {
  override name = 'Unreachable';
}

type Method = 'GET' | 'POST';
/** Longer than any response takes, short enough to notice a dead connection. */
const TIMEOUT_MS = 20_000;
const LONGEST_REASON = 500;
/** Far above any task. */
const MOST_BYTES = 32 * 1024 * 1024;
/** A task contains JSON that was itself limited. */
const MOST_DEPTH = 2 * MAX_JSON_DEPTH;

const readRegistration = createValidator(WorkerRegistration, 'registration');
const readTask = createValidator(RemoteTask, 'task');
const readControl = createValidator(TaskControl, 'control');

/** The worker's client for the service. Its key is sent nowhere else: redirects are not followed. */
export class ControlPlane {
  readonly #url: string;
  readonly #timeoutMs: number;
  #key: string;

  constructor({ url, key, timeout_ms = TIMEOUT_MS }: { url: string; key: string; timeout_ms?: number }) {
    this.#url = url;
    this.#key = key;
    this.#timeoutMs = timeout_ms;
  }

  /** The worker's key from now on. */
  useKey(key: string): void {
    this.#key = key;
  }

  async register(body: RegisterWorker, signal: AbortSignal): Promise<WorkerRegistration> {
    return readRegistration(await this.#json('POST', '/register', signal, body));
  }

  /** @param running the worker's tasks: claims missing here return to the queue */
  async heartbeat(running: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#json('POST', '/heartbeat', signal, { running });
  }

  /** Null if there is no task for this worker. */
  async claim(signal: AbortSignal): Promise<RemoteTask | null> {
    const answer = await this.#json('POST', '/tasks/claim', signal, {});
    return answer === null ? null : readTask(answer);
  }

  async complete(task_id: string, result: TaskResult, signal: AbortSignal): Promise<void> {
    await this.#json('POST', `/tasks/${task_id}/complete`, signal, result);
  }

  async fail(task_id: string, error: string, signal: AbortSignal): Promise<void> {
    await this.#json('POST', `/tasks/${task_id}/fail`, signal, { error });
  }

  async isCalledOff(task_id: string, signal: AbortSignal): Promise<boolean> {
    return readControl(await this.#json('GET', `/tasks/${task_id}/control`, signal)).cancel;
  }

  async sendEvents(task_id: string, events: readonly TaskEvent[], signal: AbortSignal): Promise<void> {
    await this.#json('POST', `/tasks/${task_id}/events`, signal, { events });
  }

  /** The response's body; null if empty. Throws Refusal or Unreachable, or the signal's reason. */
  async #json(method: Method, path: string, signal: AbortSignal, body?: unknown): Promise<unknown> {
    const request = {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${this.#key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const limits = { signal, time_ms: this.#timeoutMs, most_bytes: MOST_BYTES };
    let answer: Answer;
    try {
      answer = await exchange(fetch, `${this.#url}/api/workers${path}`, request, limits);
    } catch (err) {
      if (err instanceof ExchangeFailure) throw new Unreachable(err.message);
      throw err;
    }
    if (!answer.ok) throw new Refusal(answer.status, spoken(answer.text), retryAfter(answer));
    if (answer.text === '') return null;
    if (isNestedDeeper(answer.text, MOST_DEPTH)) throw new Refusal(502, 'the answer is nested too deeply');
    try {
      return JSON.parse(answer.text);
    } catch {
      throw new Refusal(502, 'the answer is not JSON: is SERVICE_SERVER_URL the service’s?');
    }
  }
}

/** The message in an error body; bodies in another format come from a proxy and are ignored. */
function spoken(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return error.slice(0, LONGEST_REASON);
  } catch {
    // Handled below.
  }
  return 'an answer that is not the service’s';
}

function retryAfter({ headers }: Answer): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/** Whether this is the service's error or unavailability, or an invalid response. */
export function isTrouble(err: unknown): err is Refusal | Unreachable | ServiceError {
  return err instanceof Refusal || err instanceof Unreachable || err instanceof ServiceError;
}
