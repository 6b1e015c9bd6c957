/** The demo's throw-away home and its child processes: whatever ends the demo, both go with it. */
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
 * Its standard input is a pipe that only the demo holds: the end of the file without `done` is the end of the demo by
 * a SIGKILL. Then the tiers are told to stop (the last one stops the database) and the home is removed.
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

/** A tier ended before it was ready. */
export class TierEnded extends Error {
  readonly port_taken: boolean;

  constructor(message: string, portTaken: boolean) {
    super(message);
    this.port_taken = portTaken;
  }
}

export class Stage {
  readonly home: string;
  /** Rejects when a child ends that should not. */
  readonly broken: Promise<never>;
  readonly #guard: ChildProcess;
  readonly #children: Child[] = [];
  readonly #lines: string[] = [];
  #break: (error: Error) => void = () => undefined;
  #closing: Promise<void> | undefined;

  private constructor(home: string) {
    this.home = home;
    this.broken = new Promise((_resolve, reject) => (this.#break = reject));
    // Awaited only by races; without a race it must not count as unhandled.
    this.broken.catch(() => undefined);
    this.#guard = spawn('/bin/sh', ['-c', GUARD, 'guard', home], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Without a shell a SIGKILL leaves the children; that is no reason not to show anything.
    this.#guard.on('error', () => undefined);
    this.#guard.stdin?.on('error', () => undefined);
  }

  static async open(): Promise<Stage> {
    return new Stage(await mkdtemp(path.join(tmpdir(), 'control-plane-demo-')));
  }

  /**
   * A tier of the service; resolves with its URL once it is ready. Throws TierEnded when it ends before. `onError` gets
   * the message of every error that it logs afterwards.
   */
  startTier(name: string, env: NodeJS.ProcessEnv, onError: (message: string) => void): Promise<string> {
    const main = path.resolve(import.meta.dirname, '../main.mjs');
    // In a session of its own: Ctrl-C reaches the demo alone, which stops its children in turn.
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

  /** A module that tells its URL by a message and ends with the channel. */
  async forkEndpoint(name: string, module: string): Promise<string> {
    const child = fork(module, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#adopt(child, (how) => this.#break(new Error(`${name} ended with ${how}`)));
    const [url] = await Promise.race([once(child, 'message'), this.broken]);
    return String(url);
  }

  /** The last lines that the tiers wrote. */
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

  /** `onEnd` hears of an end that the stage did not ask for. */
  #adopt(child: ChildProcess, onEnd: (how: string) => void): void {
    const ended = new Promise<void>((resolve) => {
      const end = (how: string): void => {
        if (!this.#closing) onEnd(how);
        resolve();
      };
      child.once('error', ({ message }) => end(message));
      // `close` and not `exit`: then its last words have been read.
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
    // Not the logger's: what the runtime itself prints before it dies.
    return {};
  }
}
