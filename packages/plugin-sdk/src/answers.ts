/** A plugin's responses to messages from the host. */
import { Body } from './body.ts';
import type { LineWriter } from './lines.ts';
import { matches, type Plugin, type PluginContext } from './plugin.ts';
import type { HostMessages, PluginMessages } from './protocol.ts';

type Answered = 'health_check' | 'invoke_tool' | 'trigger_event' | 'run_job' | 'deliver_webhook';
type Failure = { message: string; code?: string };

export class Answers {
  readonly #plugin: Plugin;
  readonly #context: PluginContext;
  readonly #writer: LineWriter;
  /** Completion of the latest event: each one waits for the one before it. */
  #lastEvent = Promise.resolve();

  constructor(plugin: Plugin, context: PluginContext, writer: LineWriter) {
    this.#plugin = plugin;
    this.#context = context;
    this.#writer = writer;
  }

  /** Never rejects. An unknown type belongs to a newer protocol and can't be answered. */
  async to(type: string, payload: unknown): Promise<void> {
    if (!Object.hasOwn(this.#answers, type)) return;
    const known = type as Answered;
    try {
      await this.#answers[known](payload as never);
    } catch (error) {
      this.#context.host.log('error', `${type}: ${failureOf(error).message}`);
    }
  }

  readonly #answers: { [T in Answered]: (payload: HostMessages[T]) => Promise<void> } = {
    health_check: async () => {
      try {
        await this.#plugin.health?.(this.#context);
      } catch (error) {
        await this.#send('error', { ...failureOf(error), code: 'unhealthy' });
        return;
      }
      await this.#send('health_check', {});
    },

    invoke_tool: async ({ tool: name, namespace, input, request_id }) => {
      const { tools = [] } = this.#plugin;
      try {
        const tool = tools.find(
          (each) => each.name === name && (namespace === undefined || each.namespace === namespace),
        );
        if (tool === undefined) throw new Error(`there is no tool ${name}`);
        const result = await tool.run(input as never, this.#context);
        await this.#send('tool_result', { request_id, result: result ?? null, error: null });
      } catch (error) {
        await this.#send('tool_result', { request_id, result: null, error: failureOf(error) });
      }
    },

    trigger_event: async (event) => {
      const before = this.#lastEvent;
      const handled = (async () => {
        await before;
        await this.#handleEvent(event);
      })();
      this.#lastEvent = handled.catch(() => {});
      await handled;
    },

    run_job: async ({ job_name, scheduled_at, config }) => {
      try {
        const found = this.#plugin.jobs?.find(({ name }) => name === job_name);
        if (found === undefined) throw new Error(`there is no job ${job_name}`);
        const tick = { name: job_name, scheduled_at, config: config ?? found.config ?? {} };
        const result = await found.run(tick, this.#context);
        await this.#send('job_result', { job_name, result: result ?? null, error: null });
      } catch (error) {
        await this.#send('job_result', { job_name, result: null, error: failureOf(error) });
      }
    },

    deliver_webhook: async (sent) => {
      const found = this.#plugin.webhooks?.find(({ path }) => bare(path) === bare(sent.path));
      if (found === undefined) throw new Error(`there is no webhook ${sent.path}`);
      const { path, headers } = sent;
      await found.handle({ path, headers, body: new Body(sent) }, this.#context);
    },
  };

  /** The host continues with the next event whatever the outcome: a failure is reported, not retried. */
  async #handleEvent(event: HostMessages['trigger_event']): Promise<void> {
    const { event_type, data, event_id, occurred_at } = event;
    try {
      let result: unknown = null;
      if (event_type === 'reset') await this.#plugin.missed?.(Number(data.missed ?? 0), this.#context);
      const handlers = (this.#plugin.events ?? []).filter(({ pattern }) => matches(pattern, event_type));
      const given = { type: event_type, data, id: event_id ?? null, occurred_at: occurred_at ?? null };
      for (const { handle } of event_type === 'reset' ? [] : handlers)
        result = (await handle(given as never, this.#context)) ?? null;
      // A result that can't be sent is a failure as well: unanswered, the event would come again.
      await this.#send('event_handled', { event_type, result });
    } catch (error) {
      const failure = failureOf(error);
      this.#context.host.log('error', `${event_type}: ${failure.message}`);
      await this.#send('event_handled', { event_type, result: { error: failure.message } });
    }
  }

  /** Starts the plugin and announces what it offers. False if its own `start` failed. */
  async started(ready: PluginMessages['ready']): Promise<boolean> {
    try {
      await this.#plugin.start?.(this.#context);
      await this.#send('ready', ready);
      return true;
    } catch (error) {
      await this.#send('error', { ...failureOf(error), code: 'init_failed' });
      return false;
    }
  }

  async stopped(): Promise<void> {
    try {
      await this.#plugin.stop?.(this.#context);
    } catch (error) {
      this.#context.host.log('error', `stop: ${failureOf(error).message}`);
    }
  }

  async #send<T extends keyof PluginMessages>(type: T, payload: PluginMessages[T]): Promise<void> {
    await this.#writer.write({ type, payload });
  }
}

/** The host takes a path with slashes around it for the one without. */
const bare = (path: string): string => path.replaceAll(/^\/|\/$/g, '');

/** The error's message for the caller, and its code if it has one. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return { message: error.message.slice(0, 10_000) || error.name, ...code };
}
