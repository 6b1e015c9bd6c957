import { setTimeout as delay } from 'node:timers/promises';
import { type CheckedManifest, PLUGIN_PROTOCOL_VERSION, type PluginMessage } from '@acp/contract';
import { pluginReady, type PluginHold, type PluginRow, resolveSecrets } from '@acp/core';
import { transaction } from '@acp/db';
import {
  conflict,
  type Controller,
  notFound,
  Scrubber,
  ServiceError,
  storableText,
  stated,
} from '@acp/kernel';
import { checkManifest, ProtocolError } from '@acp/plugin-protocol';
import { Conversation } from './conversation.ts';
import { EventPump } from './event-pump.ts';
import { HostRequests } from './host-requests.ts';
import { type InputValidators, inputValidators } from './input-validators.ts';
import { JobRuns } from './job-runs.ts';
import { PluginLog } from './plugin-log.ts';
import { type PluginProcess, type ProcessEnd, startProcess } from './plugin-lines.ts';
import { prepareStart, type PreparedStart } from './prepare-start.ts';
import type { RunnerParts } from './runner-parts.ts';

/** Consecutive health checks without an answer after which it counts as hung. */
const MOST_SILENCES = 2;
const STDERR_SHOWN = 2000;
const LONGEST_CODE = 100;

/** One plugin owned by this scheduler: from writing its binary to the end of its process. */
export class PluginRunner {
  readonly hold: PluginHold;
  readonly company_id: string;
  /** Resolves once nothing of it is left, with what went wrong; null if it was stopped. */
  readonly ended: Promise<string | null>;
  healthy: boolean | null = null;
  checked_at: Date | null = null;
  /** Which event it left unanswered, and how; shown on its page until it handles one. */
  complaint: string | null = null;
  readonly jobs: JobRuns;
  readonly #plugin: PluginRow;
  readonly #parts: RunnerParts;
  readonly #log: PluginLog;
  readonly #conversation = new Conversation((message) => this.#running().send(message));
  readonly #requests: HostRequests;
  readonly #over = new AbortController();
  readonly #manifest = Promise.withResolvers<CheckedManifest>();
  readonly #end = Promise.withResolvers<string | null>();
  #validators: InputValidators = new Map();
  #secrets: string[] = [];
  #process: PluginProcess | undefined;
  #prepared: PreparedStart | undefined;
  #pump: EventPump | undefined;
  #hasManifest = false;
  #isReady = false;
  #isStopping = false;

  constructor(plugin: PluginRow, hold: PluginHold, parts: RunnerParts) {
    this.hold = hold;
    this.company_id = plugin.company_id;
    this.#plugin = plugin;
    this.#parts = parts;
    this.ended = this.#end.promise;
    this.#log = new PluginLog(plugin.id, parts, new Scrubber());
    this.jobs = new JobRuns({
      ...parts,
      conversation: this.#conversation,
      log: this.#log,
      time_ms: parts.times.job,
      clean: (text) => this.#clean(text),
      signal: this.#over.signal,
    });
    this.#requests = new HostRequests({
      ...parts,
      plugin_id: plugin.id,
      company_id: plugin.company_id,
      slug: plugin.slug,
      host_capabilities: plugin.host_capabilities as string[],
      signal: this.#over.signal,
      log: (level, message) => this.#log.add({ type: 'log', level, message }),
      denied: (message) => this.#log.add({ type: 'denied', level: 'warn', message }),
      malformed: (message) => this.#log.add({ type: 'error', level: 'error', message }),
      learnSecrets: (secrets) => this.#learn(secrets),
      placeBody: async (bytes) => this.#prepared!.placeBody(bytes),
      answer: (message) => this.#running().send(message),
    });
    this.#manifest.promise.catch(() => undefined);
    void this.#start().catch((err: unknown) => this.#fail(this.#reasonOf(err)));
  }

  /** Whether it answers calls. */
  get isReady(): boolean {
    return this.#isReady && !this.#over.signal.aborted;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get grouped(): readonly Controller[] {
    return this.#prepared?.command.grouped ?? [];
  }

  get workspace(): string {
    return this.#prepared?.workspace ?? '';
  }

  /** @throws notFound, invalid for input that violates the schema, conflict if the tool fails, unavailable */
  async invoke(
    tool: { namespace: string; name: string; input: unknown },
    signal: AbortSignal,
  ): Promise<unknown> {
    const validate = this.#validators.get(`${tool.namespace}:${tool.name}`);
    if (validate === undefined) throw notFound('the plugin has no such tool');
    validate(tool.input ?? {});
    return this.#conversation.invoke(tool, this.#parts.times.tool, signal);
  }

  /** @throws unavailable if it does not read its messages, conflict for headers that are too long for one */
  async webhook(path: string, headers: Record<string, string>, body: Uint8Array): Promise<void> {
    await this.#conversation.webhook(path, headers, body, async (bytes) => this.#prepared!.placeBody(bytes));
  }

  /** Call when there are new events. */
  kick(): void {
    if (this.isReady) this.#pump?.kick();
  }

  /** Asks it to end and waits; it has 5 s. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#process === undefined) await this.#finish(null);
    else await this.#process.stop();
    await this.ended;
  }

  /** Adds a warning to the plugin's log. */
  note(message: string): void {
    this.#log.add({ type: 'error', level: 'warn', message });
  }

  /** Kills it: this scheduler no longer owns it, or it exceeds its limits. */
  async kill(reason?: string): Promise<void> {
    if (reason !== undefined) this.#process?.fail(reason);
    this.#isStopping ||= reason === undefined;
    await this.#process?.kill();
    if (this.#process === undefined) await this.#finish(reason ?? null);
    await this.ended;
  }

  async #start(): Promise<void> {
    const { times } = this.#parts;
    this.#prepared = await prepareStart(this.#plugin, this.#parts);
    const { command } = this.#prepared;
    const init = await this.#init();
    if (this.#isStopping) return this.#finish(null);
    this.#process = startProcess(
      command,
      { onMessage: (message) => this.#take(message), onEnd: (end) => void this.#processEnded(end) },
      () => this.#conversation.isHealthAsked,
    );
    this.#process.send(init);
    const overdue = setTimeout(
      () => this.#process?.fail(`it was not ready within ${times.ready / 1000} s`),
      times.ready,
    );
    const manifest = await Promise.race([this.#manifest.promise, this.ended]).finally(() =>
      clearTimeout(overdue),
    );
    if (manifest === null || typeof manifest === 'string') return;
    await this.#becomeReady(manifest);
  }

  async #becomeReady(manifest: CheckedManifest): Promise<void> {
    const { database } = this.#parts;
    this.#validators = await inputValidators(this.#plugin.id, manifest.tools);
    const { kind: sandbox, bounds } = this.#prepared!.command;
    const walls = { sandbox, bounds };
    const row = await transaction(database, async (tx) => pluginReady(tx, this.hold, manifest, walls));
    if (row === undefined) {
      // Stopped, banned or taken over in the meantime.
      await this.stop();
      return;
    }
    this.healthy = true;
    this.checked_at = new Date();
    this.#isReady = true;
    this.#parts.onReady();
    void this.#watchHealth();
    this.#pump = new EventPump({
      ...this.#parts,
      plugin_id: this.#plugin.id,
      company_id: this.#plugin.company_id,
      patterns: manifest.events,
      deliver: async (payload) => this.#conversation.event(payload, this.#parts.times.event),
      onSkipped: (type, err) => {
        this.complaint = `event ${type} was left out: ${this.#reasonOf(err)}`;
        this.#log.add({ type: 'error', level: 'error', message: this.complaint });
      },
      onRecovered: () => (this.complaint = null),
      signal: this.#over.signal,
    });
    this.#pump.kick();
  }

  async #init() {
    const { id: plugin_id, company_id, config, host_capabilities } = this.#plugin;
    const resolved = await resolveSecrets(this.#parts.database.db, company_id, config, this.#parts.vault);
    this.#learn(resolved.secrets);
    const payload = {
      plugin_id,
      company_id,
      config: resolved.value as Record<string, unknown> | null,
      host_capabilities: host_capabilities as string[],
      protocol_version: PLUGIN_PROTOCOL_VERSION,
    };
    return { type: 'init', payload } as const;
  }

  #learn(secrets: readonly string[]): void {
    this.#secrets = [...new Set([...this.#secrets, ...secrets])];
    this.#log.scrubber = new Scrubber(this.#secrets);
  }

  #running(): PluginProcess {
    if (this.#process === undefined) throw conflict('the plugin is not running');
    return this.#process;
  }

  #take(message: PluginMessage): void {
    switch (message.type) {
      case 'ready':
        return this.#ready(message.payload);
      case 'host_request':
        return this.#requests.take(message.payload);
      case 'log':
        if ((this.#plugin.host_capabilities as string[]).includes('log'))
          this.#log.add({ type: 'log', ...message.payload });
        return;
      case 'error': {
        const { code } = message.payload;
        // Scrubbed before they are cut, like what it writes to its standard error.
        const text = this.#clean(message.payload.message);
        const details = code === undefined || code === null ? {} : { code: this.#codeText(code) };
        this.#log.add({ type: 'error', level: 'error', message: text, details });
        // In place of `ready`: it will not become so.
        if (!this.#hasManifest) this.#process?.fail(`it reported an error: ${text.slice(0, STDERR_SHOWN)}`);
        return;
      }
      default:
        if (!this.#conversation.answer(message))
          this.#log.add({ type: 'error', level: 'warn', message: `a ${message.type} that nobody waits for` });
    }
  }

  #ready({ manifest, protocol_version = 1 }: Extract<PluginMessage, { type: 'ready' }>['payload']): void {
    if (this.#isReady) return this.#process?.fail('it said ready twice');
    if (protocol_version !== PLUGIN_PROTOCOL_VERSION)
      return this.#process?.fail(
        `it speaks version ${protocol_version} of the protocol, not ${PLUGIN_PROTOCOL_VERSION}`,
      );
    try {
      this.#manifest.resolve(checkManifest(manifest));
      this.#hasManifest = true;
    } catch (err) {
      this.#process?.fail(this.#reasonOf(err));
    }
  }

  async #watchHealth(): Promise<void> {
    const { times } = this.#parts;
    let silences = 0;
    while (!this.#over.signal.aborted) {
      await delay(times.health_every, undefined, { signal: this.#over.signal, ref: false }).catch(
        () => undefined,
      );
      if (this.#over.signal.aborted) return;
      try {
        await this.#conversation.health(times.health);
        silences = 0;
      } catch {
        silences += 1;
      }
      this.healthy = silences === 0;
      this.checked_at = new Date();
      if (silences === MOST_SILENCES) this.#process?.fail(stated('it does not answer health checks'));
    }
  }

  #fail(reason: string): void {
    if (this.#process === undefined) void this.#finish(reason);
    else this.#process.fail(reason);
  }

  async #processEnded({ failure, stderr }: ProcessEnd): Promise<void> {
    // Scrubbed before it is cut, since a cut could leave part of a secret.
    const said = this.#clean(stderr).trim().slice(-STDERR_SHOWN);
    const shown = failure === null || said === '' ? failure : `${failure}; it last wrote: ${said}`;
    await this.#finish(shown);
  }

  async #finish(failure: string | null): Promise<void> {
    this.#over.abort();
    this.#conversation.close();
    await this.#log.flush();
    await this.#prepared?.remove();
    const { metrics } = this.#parts;
    metrics.forget({ plugin_id: this.#plugin.id, company_id: this.company_id });
    this.#end.resolve(failure === null ? null : this.#clean(failure));
  }

  /** Makes text storable and removes the secrets passed to the plugin. */
  #clean(text: string): string {
    return storableText(this.#log.scrubber.scrub(text));
  }

  #codeText(code: string | number): string | number {
    return typeof code === 'string' ? storableText(this.#clean(code).slice(0, LONGEST_CODE)) : code;
  }

  /** The reason shown to people. An error without a message for them is logged: it is a bug of ours. */
  #reasonOf(error: unknown): string {
    if (error instanceof ServiceError || error instanceof ProtocolError) return error.message;
    this.#parts.logger.warn('a plugin could not be started', { plugin_id: this.#plugin.id, error });
    return stated('it could not be started: the scheduler’s log says why');
  }
}
