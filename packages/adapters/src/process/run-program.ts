import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { AdapterError } from '../adapter-error.ts';
import { splitLines } from './lines.ts';
import type { ProgramLimits, ProgramSpec } from '../task.ts';
import { killMarked, sendSignal } from './marked.ts';
import { Pace } from './pace.ts';
import { watchProgram } from './program-limits.ts';
import { tailOf } from './tail.ts';

export interface ProgramCall {
  /** Program and arguments; never a shell command. */
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
  stdin: string;
  run_id: string;
  /** Used if nothing else enforces limits. */
  limits?: ProgramLimits;
  /** Runs first; if it throws, nothing is started. A command it returns replaces the original. */
  prepare?: (signal: AbortSignal) => Promise<Pick<ProgramCall, 'command'> | void>;
  watch?: ProgramSpec['watch'];
  /** Asked once it has failed, before the clean-up: a limit that the kernel enforced, if one did. */
  whyEnded?: () => Promise<string | undefined>;
  /** Ends what a program started beyond the reach of our signals: its container. */
  cleanUp?: () => Promise<void>;
}

export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why we ended it. */
  too_much?: string | undefined;
  /** The end of its stderr. */
  stderr: string;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 3000;
const GIVE_UP_MS = 1000;
const STDERR_KEPT = 8192;

/**
 * Runs a program in its own process group and yields its stdout line by line; undefined for a line that was too long. However
 * the iteration ends (the program exits, the signal aborts, the caller leaves), no process is left behind: the group is
 * signalled and then killed, followed by every process that carries the run's mark.
 */
export async function* runProgram(
  call: ProgramCall,
  signal: AbortSignal,
): AsyncGenerator<string | undefined, ProgramEnd> {
  signal.throwIfAborted();
  const child = await prepared(call, signal);
  const exited = endOf(child, call);
  const stderr = tailOf(child.stderr, STDERR_KEPT);
  const ending = new Ending(child, exited, call);
  const onAbort = () => void ending.begin().then(() => stopReading(child));
  signal.addEventListener('abort', onAbort, { once: true });
  let too_much: string | undefined;
  const unwatch =
    call.limits &&
    watchProgram(child.pid!, call.limits, (reason) => {
      too_much = reason;
      onAbort();
    });
  const unwatchRun = call.watch?.(async (reason) => {
    too_much ??= reason;
    await ending.kill();
    stopReading(child);
  });
  // Processes left behind may keep its output open, so they are ended as soon as the program has exited.
  void exited.then(async () => ending.begin());
  try {
    // A program may legitimately not read all of its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(call.stdin);
    yield* splitLines(untilClosed(child.stdout));
    const end = await exited;
    // What was written last may still be in the pipe.
    await Promise.race([stderr.closed, delay(GIVE_UP_MS, undefined, { ref: false })]);
    return { ...end, stderr: stderr.text(), too_much: too_much ?? end.too_much };
  } finally {
    signal.removeEventListener('abort', onAbort);
    unwatch?.();
    await ending.begin();
    unwatchRun?.();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

async function prepared(call: ProgramCall, signal: AbortSignal): Promise<Child> {
  try {
    const changes = await call.prepare?.(signal);
    signal.throwIfAborted();
    return await start({ ...call, ...changes });
  } catch (err) {
    await call.cleanUp?.();
    throw err;
  }
}

async function start({ command, cwd, env }: ProgramCall): Promise<Child> {
  const [program = '', ...args] = command;
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    await once(child, 'spawn');
    return child;
  } catch (err) {
    const code = err instanceof Error && 'code' in err ? String(err.code) : 'unknown error';
    throw new AdapterError('config', `the program ${program} could not be started: ${code}`);
  }
}

/** For an output that stays open although everything that could be killed is gone. */
function stopReading({ stdout }: Child): void {
  setTimeout(() => stdout.destroy(), GIVE_UP_MS).unref();
}

/** The stream's chunks, no faster than they are of use; a stream destroyed in the meantime simply ends. */
async function* untilClosed(stream: Readable): AsyncGenerator<Buffer, void> {
  const pace = new Pace();
  try {
    for await (const chunk of stream) {
      yield chunk as Buffer;
      const wait_ms = pace.count(chunk as Buffer);
      if (wait_ms > 0) await delay(wait_ms);
    }
  } catch (err) {
    if (!stream.destroyed) throw err;
  }
}

/** Shuts a program down completely, only once for any number of reasons. */
class Ending {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #call: ProgramCall;
  #begun: Promise<void> | undefined;

  constructor(child: ChildProcess, exited: Promise<unknown>, call: ProgramCall) {
    this.#child = child;
    this.#exited = exited;
    this.#call = call;
  }

  async begin(): Promise<void> {
    this.#begun ??= this.#end();
    await this.#begun;
  }

  /** Without any time for a farewell. */
  async kill(): Promise<void> {
    if (this.#child.pid !== undefined) sendSignal(-this.#child.pid, 'SIGKILL');
    await this.begin();
  }

  async #end(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    const running = this.#child.exitCode === null && this.#child.signalCode === null;
    if (running) {
      sendSignal(-pid, 'SIGTERM');
      let timer: NodeJS.Timeout | undefined;
      const grace = new Promise((resolve) => (timer = setTimeout(resolve, GRACE_MS)));
      await Promise.race([this.#exited, grace]);
      clearTimeout(timer);
    }
    sendSignal(-pid, 'SIGKILL');
    await Promise.all([this.#call.cleanUp?.(), killMarked(this.#call.run_id)]);
  }
}

async function endOf(child: Child, { whyEnded }: ProgramCall): Promise<Omit<ProgramEnd, 'stderr'>> {
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('exit', (...end) => resolve(end));
  });
  return { code, signal, too_much: code === 0 ? undefined : await whyEnded?.() };
}
