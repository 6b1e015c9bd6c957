/** A plugin's process, driven as the host would: every line it writes is checked. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { HostMessage, PluginMessage, PluginMessageType } from '@acp/contract';
import { LineCutter, readPluginMessage } from '@acp/plugin-protocol';
import { type FakeServices, Refusal } from './services.ts';

type Of<T extends PluginMessageType> = Extract<PluginMessage, { type: T }>['payload'];

interface Waiting {
  type: string;
  accepts: (message: PluginMessage) => boolean;
  resolve: (message: PluginMessage) => void;
  reject: (error: Error) => void;
}

const STDERR_KEPT = 4000;
/** Limit for unsolicited messages kept for a later check: more than this is a flood. */
const UNASKED_KEPT = 1000;

export interface DrivenOptions {
  services: FakeServices;
  workspace: string;
  plugin_id: string;
  company_id: string;
}

export class DrivenPlugin {
  readonly #child: ChildProcess;
  readonly #waiting = new Set<Waiting>();
  readonly services: FakeServices;
  /** Violations of the protocol by the plugin, each once. */
  readonly offences = new Set<string>();
  /** Messages that no one was waiting for. */
  readonly unasked: PluginMessage[] = [];
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  stderr = '';
  #ended = false;
  readonly #cutter = new LineCutter();

  constructor(binary: string, options: DrivenOptions) {
    this.services = options.services;
    this.#child = spawn(binary, [], {
      cwd: options.workspace,
      // Same as in the sandbox: nothing of the author's own environment.
      env: {
        PATH: process.env.PATH,
        LANG: 'C.UTF-8',
        HOME: options.workspace,
        SERVICE_PLUGIN_ID: options.plugin_id,
        SERVICE_COMPANY_ID: options.company_id,
        SERVICE_PLUGIN_WORKSPACE: options.workspace,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', (error) => {
        this.#end(error);
        reject(error);
      });
      this.#child.once('exit', (code, signal) => {
        this.#end(new Error(`it ended with ${signal ?? `exit status ${code}`}${this.#lastWords()}`));
        resolve({ code, signal });
      });
    });
    this.exited.catch(() => {});
    // A pipe that the plugin closed shows up as missing answers.
    this.#child.stdin!.on('error', () => {});
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      this.#take(chunk);
    });
    this.#child.stderr!.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-STDERR_KEPT);
    });
  }

  get alive(): boolean {
    return !this.#ended;
  }

  send(message: HostMessage | { type: string; payload?: unknown }): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  write(text: string): void {
    if (this.alive) this.#child.stdin!.write(text);
  }

  closeInput(): void {
    this.#child.stdin!.end();
  }

  /** Resolves with the next message of the type that `which` accepts. */
  async next<T extends PluginMessageType>(
    type: T,
    ms: number,
    which: (payload: Of<T>) => boolean = () => true,
  ): Promise<Of<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<PluginMessage>();
    const accepts = (message: PluginMessage) => message.type === type && which(message.payload as Of<T>);
    const waiting = { type, accepts, resolve, reject };
    this.#waiting.add(waiting);
    if (this.#ended) reject(new Error(`it has ended${this.#lastWords()}`));
    const timer = setTimeout(() => {
      reject(new Error(`no ${type} within ${ms / 1000} s`));
    }, ms);
    try {
      return (await promise).payload as Of<T>;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }

  /** Kills it and everything it started. */
  kill(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // All of its processes are already gone.
    }
  }

  #lastWords(): string {
    return this.stderr === '' ? '' : `; the end of its standard error:\n${this.stderr.trimEnd()}`;
  }

  #end(error: Error): void {
    this.#ended = true;
    for (const { reject } of this.#waiting) reject(error);
  }

  #take(chunk: Buffer): void {
    try {
      for (const line of this.#cutter.push(chunk)) this.#read(line);
    } catch (error) {
      // The start of the next line is unknown: the host kills it in this case as well.
      this.offences.add(`it wrote what the host ends a plugin for: ${textOf(error)}`);
      this.kill();
    }
  }

  #read(line: string): void {
    let message: PluginMessage;
    try {
      const health_asked = [...this.#waiting].some(({ type }) => type === 'health_check');
      message = readPluginMessage(line, { health_asked });
    } catch (error) {
      this.offences.add(`it wrote what is no message: ${textOf(error)}`);
      // No better answer will follow.
      const [, type] = /"type"\s*:\s*"(\w+)"/.exec(line) ?? [];
      for (const waiting of this.#waiting)
        if (waiting.type === type) waiting.reject(new Error(textOf(error)));
      return;
    }
    if (message.type === 'host_request') void this.#serve(message.payload);
    const waiting = [...this.#waiting].find(({ accepts }) => accepts(message));
    if (waiting) {
      this.#waiting.delete(waiting);
      waiting.resolve(message);
    } else if (this.unasked.length < UNASKED_KEPT) this.unasked.push(message);
    else this.offences.add(`it wrote more than ${UNASKED_KEPT} messages that nobody asked for`);
  }

  async #serve({ service, args, request_id }: Of<'host_request'>): Promise<void> {
    if (request_id === null) {
      this.offences.add(`it asked the host for ${service} without a request_id`);
      return;
    }
    try {
      const result = await this.services.answer(service, args);
      this.send({ type: 'tool_result', payload: { request_id, result, error: null } });
    } catch (error) {
      const message = textOf(error);
      const code = error instanceof Refusal ? error.code : 'invalid';
      if (code === 'invalid') this.offences.add(`it asked the host wrongly: ${message}`);
      this.send({ type: 'tool_result', payload: { request_id, result: null, error: { code, message } } });
    }
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
