import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { type Tail, tailOf } from '@acp/adapters';
import { ReadingPace, unavailable } from '@acp/kernel';
import { LineCutter, ProtocolError } from '@acp/plugin-protocol';
import type { SandboxedCommand } from './sandbox.ts';

/** How messages are encoded as lines. */
export interface Lines<Sent, Received> {
  /** What the process is called in error messages: `plugin`. */
  who: string;
  /** Maximum length of one line, in bytes. */
  longest: number;
  /** @throws ProtocolError if the message is too long */
  encode(message: Sent): Buffer | string;
  /** Undefined for a line that is no message. @throws ProtocolError, which kills the process */
  read(line: string): Received | undefined;
  /** Sent before its input is closed. */
  farewell?: Sent;
}

export interface ProcessHandlers<Received> {
  onMessage(message: Received): void;
  /** Called once, however it ended; the first reason counts. */
  onEnd(end: ProcessEnd): void;
}

export interface ProcessEnd {
  /** Null if it was asked to end, and did. */
  failure: string | null;
  /** The tail of its standard error. */
  stderr: string;
}

const STDERR_KEPT = 4000;
/** Beyond any of these the output is read more slowly, and the process waits. */
const A_SECOND = { lines: 2000, bytes: 8 * 1024 * 1024, chunks: 10_000 };
/** Maximum size of what the plugin has not read yet. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
const SHUTDOWN_MS = 5000;
/** Time between the end of its output and its own end. */
const CLOSING_MS = 1000;

/** One process and its pipes: carries messages both ways, limited in size, number and time, without interpreting them. */
export class LineProcess<Sent, Received> {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #command: SandboxedCommand;
  readonly #lines: Lines<Sent, Received>;
  readonly #handlers: ProcessHandlers<Received>;
  readonly #cutter: LineCutter;
  readonly #exited = Promise.withResolvers<void>();
  readonly #stderr: Tail;
  #failure: string | null = null;
  #stopping = false;
  #ended = false;
  readonly #pace = new ReadingPace(A_SECOND);
  #resume: NodeJS.Timeout | undefined;

  constructor(command: SandboxedCommand, lines: Lines<Sent, Received>, handlers: ProcessHandlers<Received>) {
    this.#command = command;
    this.#lines = lines;
    this.#cutter = new LineCutter(lines.longest);
    this.#handlers = handlers;
    const [program = '', ...args] = command.command;
    // Its own process group, which is killed as a whole.
    this.#child = spawn(program, args, { env: command.env, cwd: command.cwd, stdio: 'pipe', detached: true });
    this.#child.on('error', (err) => this.fail(`it could not be started: ${codeOf(err)}`));
    this.#child.on('close', (code, signal) => void this.#close(code, signal));
    this.#child.stdin.on('error', () => this.fail('it closed its input'));
    this.#child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#child.stdout.on('end', () => void this.#outputEnded());
    this.#child.stdout.on('error', () => undefined);
    this.#stderr = tailOf(this.#child.stderr, STDERR_KEPT);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws unavailable if it has ended or does not read, ProtocolError if the message is too long */
  send(message: Sent): void {
    const { who } = this.#lines;
    if (this.#ended || this.#failure !== null) throw unavailable(`the ${who} is not running`);
    const line = this.#lines.encode(message);
    if (this.#child.stdin.writableLength > MAX_UNREAD_BYTES)
      throw unavailable(`the ${who} does not read its messages`);
    this.#child.stdin.write(line);
  }

  /** Kills the process for a violation, which becomes the reason for its end. */
  fail(reason: string): void {
    this.#failure ??= reason;
    this.#kill();
    // A process that could not be started emits no close event.
    if (this.#child.pid === undefined) void this.#close(null, null);
  }

  /** Asks it to end, kills it after 5 s (specification, Limits), resolves once nothing of it is left. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const overdue = new AbortController();
    try {
      if (this.#lines.farewell !== undefined) this.send(this.#lines.farewell);
      this.#child.stdin.end();
      await Promise.race([this.#exited.promise, delay(SHUTDOWN_MS, undefined, { signal: overdue.signal })]);
    } catch {
      // It has ended, or does not read.
    } finally {
      overdue.abort();
    }
    this.#kill();
    await this.#exited.promise;
  }

  /** Kills it immediately: it may no longer run here. */
  async kill(): Promise<void> {
    this.#stopping = true;
    this.#kill();
    await this.#exited.promise;
  }

  #kill(): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#ended) return;
    this.#child.stdout.resume();
    for (const target of [-pid, pid])
      try {
        process.kill(target, 'SIGKILL');
      } catch {
        // Already gone.
      }
    // Descendants in other sessions may keep the pipes open.
    setTimeout(() => {
      this.#child.stdout.destroy();
      this.#child.stderr.destroy();
    }, CLOSING_MS).unref();
  }

  async #outputEnded(): Promise<void> {
    await Promise.race([this.#exited.promise, delay(CLOSING_MS, undefined, { ref: false })]);
    if (!this.#ended && !this.#stopping && this.#child.exitCode === null && this.#child.signalCode === null)
      this.fail('it closed its output');
  }

  async #close(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#resume);
    // The leader has gone; others of its group may still run.
    if (this.#child.pid !== undefined)
      try {
        process.kill(-this.#child.pid, 'SIGKILL');
      } catch {
        // None are left.
      }
    const why = await this.#command.whyEnded();
    await this.#command.cleanUp();
    const unexpected = this.#stopping
      ? null
      : (why ?? `it ended by itself, with ${signal ?? `code ${code}`}`);
    this.#exited.resolve();
    this.#handlers.onEnd({ failure: this.#failure ?? unexpected, stderr: this.#stderr.text() });
  }

  #take(chunk: Buffer): void {
    if (this.#failure !== null || this.#ended) return;
    try {
      const lines = this.#cutter.push(chunk);
      this.#count({ lines: lines.length, bytes: chunk.length });
      for (const line of lines) {
        const message = this.#lines.read(line);
        if (message !== undefined) this.#handlers.onMessage(message);
        if (this.#failure !== null) return;
      }
    } catch (err) {
      if (!(err instanceof ProtocolError)) throw err;
      this.fail(err.message);
    }
  }

  /** Pauses reading above the limits: the pipe fills up, and only the plugin waits. */
  #count(read: Parameters<ReadingPace['count']>[0]): void {
    const rest_ms = this.#pace.count(read);
    if (rest_ms === 0 || this.#resume !== undefined || this.#stopping) return;
    this.#child.stdout.pause();
    this.#resume = setTimeout(() => {
      this.#resume = undefined;
      this.#child.stdout.resume();
    }, rest_ms);
  }
}

function codeOf(err: Error): string {
  return 'code' in err ? String(err.code) : err.message;
}
