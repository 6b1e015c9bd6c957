/** The demo's temporary home and its child processes, both removed however the demo ends. */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** Longer than a tier takes to drain and the embedded database to write its checkpoint. */
const STOP_TIMEOUT_MS = 20_000;
const KEPT_LINES = 40;

/**
 * Its stdin is a pipe whose other end only the demo has: end of file without `done` means that the demo was killed. It then
 * stops the tiers (the last one stops the database) and removes the home.
 */
const GUARD = `
pids=
while read -r line; do
  if [ "$line" = done ]; then exit; fi
  pids="$pids $line"
done
alive() {
  for pid in $pids; do
    if grep -qs '^State:.[^XZ]' "/proc/$pid/status"; then return 0; fi
  done
  return 1
}
kill -TERM $pids 2> /dev/null
for _ in $(seq 150); do
  alive || break
  sleep 0.1
done
kill -KILL $pids 2> /dev/null
postmaster=$(head -n 1 "$1/postgres/data/postmaster.pid" 2> /dev/null)
if [ -n "$postmaster" ]; then kill -QUIT "$postmaster" 2> /dev/null; sleep 1; fi
rm -rf "$1"
`;

interface Child {
  process: ChildProcess;
  ended: Promise<void>;
}

/** A tier exited before it was ready. */
export class TierEnded extends Error {
  readonly port_taken: boolean;

  constructor(message: string, portTaken: boolean) {
    super(message);
    this.port_taken = portTaken;
  }
}

export class Stage {
  readonly home: string;
  /** Rejects when a child exits unexpectedly. */
  readonly broken: Promise<never>;
  readonly #guard: ChildProcess;
  readonly #children: Child[] = [];
  readonly #lines: string[] = [];
  #break: (error: Error) => void = () => undefined;
  #closing: Promise<void> | undefined;

  private constructor(home: string) {
    this.home = home;
    this.broken = new Promise((_resolve, reject) => (this.#break = reject));
    // Only awaited in races; otherwise it must not count as unhandled.
    this.broken.catch(() => undefined);
    this.#guard = spawn('/bin/sh', ['-c', GUARD, 'guard', home], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Without a shell a SIGKILL leaves the children behind; that is no reason not to run the demo.
    this.#guard.on('error', () => undefined);
    this.#guard.stdin?.on('error', () => undefined);
  }

  static async open(): Promise<Stage> {
    return new Stage(await mkdtemp(path.join(tmpdir(), 'control-plane-demo-')));
  }

  /**
   * Starts a tier of the service and resolves with its URL once it is ready. Throws TierEnded if it exits first. `onError`
   * receives the message of every error it logs afterwards.
   */
  startTier(name: string, env: NodeJS.ProcessEnv, onError: (message: string) => void): Promise<string> {
    const main = path.resolve(import.meta.dirname, '../main.mjs');
    // In a session of its own: Ctrl-C only reaches the demo, which stops its children in order.
    const child = spawn(process.execPath, [main], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let isReady = false;
    let portTaken = false;
    return new Promise((resolve, reject) => {
      this.#adopt(child, (how) => {
        if (isReady) this.#break(new Error(`${name} ended with ${how}`));
        else reject(new TierEnded(`${name} ended with ${how}`, portTaken));
      });
      for (const stream of [child.stdout, child.stderr]) {
        createInterface(stream).on('line', (line) => {
          this.#keep(`${name}: ${line}`);
          const { level, message, url } = parseLine(line);
          if (line.includes('EADDRINUSE')) portTaken = true;
          if (isReady && level === 'error') onError(`${name}: ${message}`);
          if (message === 'ready') {
            isReady = true;
            resolve(url ?? '');
          }
        });
      }
    });
  }

  /** A module that sends its URL as a message and exits when the channel closes. */
  async forkEndpoint(name: string, module: string): Promise<string> {
    const child = fork(module, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#adopt(child, (how) => this.#break(new Error(`${name} ended with ${how}`)));
    const [url] = await Promise.race([once(child, 'message'), this.broken]);
    return String(url);
  }

  /** The tiers' latest output. */
  log(): string {
    return this.#lines.join('\n');
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const stopped = this.#children.map(async ({ process: child, ended }) => {
      child.kill('SIGTERM');
      const inTime = await Promise.race([
        ended.then(() => true),
        delay(STOP_TIMEOUT_MS, false, { ref: false }),
      ]);
      if (!inTime) child.kill('SIGKILL');
      await ended;
    });
    await Promise.all(stopped);
    await rm(this.home, { recursive: true, force: true });
    this.#guard.stdin?.end('done\n');
    this.#guard.unref();
  }

  /** `onEnd` is called if the child exits without being asked to. */
  #adopt(child: ChildProcess, onEnd: (how: string) => void): void {
    const ended = new Promise<void>((resolve) => {
      const end = (how: string): void => {
        if (!this.#closing) onEnd(how);
        resolve();
      };
      child.once('error', ({ message }) => end(message));
      // `close` rather than `exit`: by then all of its output has been read.
      child.once('close', (code, signal) => end(String(signal ?? code)));
    });
    this.#children.push({ process: child, ended });
    if (child.pid !== undefined) this.#guard.stdin?.write(`${child.pid}\n`);
  }

  #keep(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > KEPT_LINES) this.#lines.shift();
  }
}

function parseLine(line: string): { level?: string; message?: string; url?: string } {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? entry : {};
  } catch {
    // Not from the logger: printed by the runtime before it dies.
    return {};
  }
}
