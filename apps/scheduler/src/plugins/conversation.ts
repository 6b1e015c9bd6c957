import { randomUUID } from 'node:crypto';
import type { HostMessage, PluginMessage } from '@acp/contract';
import { conflict, mapTexts, said, storableText, unavailable } from '@acp/kernel';
import { ProtocolError } from '@acp/plugin-protocol';
import { messageBody } from './message-body.ts';

type Answer = PluginMessage['payload'];
type Outcome = Extract<PluginMessage, { type: 'tool_result' | 'job_result' }>['payload'];

interface Waiting {
  resolve: (payload: Answer) => void;
  reject: (error: Error) => void;
}

/** Maximum number of concurrent calls per process; further ones are rejected, not queued. */
const MOST_WAITING = 64;

/**
 * Requests to a plugin that are not answered yet. Each has a deadline; an answer to a request that is not (or no longer)
 * pending is ignored.
 */
export class Conversation {
  readonly #send: (message: HostMessage) => void;
  readonly #waiting = new Map<string, Waiting>();
  #isHealthAsked = false;

  constructor(send: (message: HostMessage) => void) {
    this.#send = send;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Whether the last health check has not been answered, in time or late. */
  get isHealthAsked(): boolean {
    return this.#isHealthAsked;
  }

  /**
   * Returns the result of a tool.
   * @throws conflict with the error that the plugin reports, unavailable if it is busy, silent or ended
   */
  async invoke(
    tool: { namespace: string; name: string; input: unknown },
    timeout_ms: number,
    signal?: AbortSignal,
  ): Promise<unknown> {
    if (this.#waiting.size >= MOST_WAITING) throw unavailable('the plugin is busy');
    const request_id = randomUUID();
    const { namespace, name, input } = tool;
    const payload = { tool: name, namespace, input: input ?? {}, request_id };
    const answer = await this.#ask(
      `tool ${request_id}`,
      { type: 'invoke_tool', payload },
      timeout_ms,
      signal,
    );
    const { result = null, error } = answer as Outcome;
    const failure = failureOf(error);
    if (failure !== null) throw conflict(said`the tool failed: ${failure}`);
    return mapTexts(result, storableText);
  }

  /** @throws unavailable if it is not handled in time */
  async event(
    payload: Extract<HostMessage, { type: 'trigger_event' }>['payload'],
    timeout_ms: number,
  ): Promise<void> {
    await this.#ask(`event ${payload.event_type}`, { type: 'trigger_event', payload }, timeout_ms);
  }

  /** @throws conflict with the error that it reports, unavailable */
  async job(
    payload: Extract<HostMessage, { type: 'run_job' }>['payload'],
    timeout_ms: number,
  ): Promise<unknown> {
    const answer = await this.#ask(`job ${payload.job_name}`, { type: 'run_job', payload }, timeout_ms);
    const { result = null, error } = answer as Outcome;
    const failure = failureOf(error);
    if (failure !== null) throw conflict(failure);
    return result;
  }

  /** Not answered. @param place writes a body that is too long for a line where the plugin finds it */
  async webhook(
    path: string,
    headers: Record<string, string>,
    body: Uint8Array,
    place: (bytes: Uint8Array) => Promise<string>,
  ): Promise<void> {
    const about = { path, headers };
    const held = await messageBody(body, about, place);
    this.#send({ type: 'deliver_webhook', payload: { ...about, ...held } });
  }

  async health(timeout_ms: number): Promise<void> {
    this.#isHealthAsked = true;
    await this.#ask('health', { type: 'health_check', payload: {} }, timeout_ms);
  }

  /** @returns false for an answer to no pending request */
  answer(message: PluginMessage): boolean {
    if (message.type === 'health_check') this.#isHealthAsked = false;
    const key = keyOf(message);
    const waiting = key === undefined ? undefined : this.#waiting.get(key);
    if (key === undefined || waiting === undefined) return false;
    this.#waiting.delete(key);
    waiting.resolve(message.payload);
    return true;
  }

  /** Call when the process has ended. */
  close(): void {
    for (const { reject } of this.#waiting.values()) reject(unavailable('the plugin has ended'));
    this.#waiting.clear();
  }

  async #ask(key: string, message: HostMessage, timeout_ms: number, signal?: AbortSignal): Promise<Answer> {
    if (this.#waiting.has(key)) throw unavailable(said`the plugin has not answered the last ${key}`);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const giveUp = () => reject(unavailable('the call was cancelled'));
    const timer = setTimeout(
      () => reject(unavailable(said`the plugin did not answer within ${timeout_ms / 1000} s`)),
      timeout_ms,
    );
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#waiting.set(key, { resolve, reject });
    try {
      this.#send(message);
      return await promise;
    } catch (err) {
      if (err instanceof ProtocolError) throw conflict(err.message);
      throw err;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      this.#waiting.delete(key);
    }
  }
}

function keyOf({ type, payload }: PluginMessage): string | undefined {
  switch (type) {
    case 'tool_result':
      return `tool ${payload.request_id}`;
    case 'event_handled':
      return `event ${payload.event_type}`;
    case 'job_result':
      return `job ${payload.job_name}`;
    case 'health_check':
      return 'health';
    default:
      return undefined;
  }
}

const LONGEST = 2000;

/** Null if it succeeded: the error is among the fields of every answer, so it may be there and empty. */
function failureOf(error: Outcome['error']): string | null {
  if (error === null || error === undefined) return null;
  const text = typeof error === 'string' ? error : error.message || (error.code ?? '');
  return text === '' ? null : storableText(text.slice(0, LONGEST));
}
