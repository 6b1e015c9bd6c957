// The service as real processes, for tests that kill, freeze and restart it. They are cleaned up whatever happens to the test.

import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { waitFor } from './wait-for.ts';

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface LogLine {
  level: string;
  message: string;
  [field: string]: unknown;
}

export interface ServiceProcess {
  pid: number;
  /** The address it listens on; empty until it is ready. */
  readonly url: string;
  /** The log lines written so far. */
  readonly log: readonly LogLine[];
  /** All output so far, for the messages of failing tests. */
  output(): string;
  ended: Promise<ProcessExit>;
  kill(signal: NodeJS.Signals): void;
  /** Waits for a line of the log. Throws if the process exits first. */
  logged(message: string, timeout_ms?: number): Promise<LogLine>;
  /** Sends SIGTERM and resolves with the exit it leads to. */
  stop(): Promise<ProcessExit>;
}

type Env = Record<string, string>;

/** The command that starts the service, if not this checkout's. */
export interface Program {
  command: readonly string[];
  cwd?: string;
}

const main = path.resolve(import.meta.dirname, '../../../apps/launcher/src/main.mjs');
const START_TIMEOUT_MS = 90_000;
const alive = new Set<ServiceProcess>();
let guard: ChildProcess | undefined;

// Its standard input is a pipe that only this process owns: if a test run is killed, the processes it started follow.
// By then, a pid may have been reused by another process.
const GUARD = `
while read -r pid; do pids="$pids $pid"; done
for pid in $pids; do
  if grep -aqsE '(launcher|worker)/src/main.(mjs|ts)' "/proc/$pid/cmdline"; then kill -KILL "$pid"; fi
done
`;

function notifyGuard(pid: number): void {
  if (guard === undefined) {
    guard = spawn('/bin/sh', ['-c', GUARD], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Without a shell there is no guard; the tests run anyway.
    guard.on('error', () => undefined);
    guard.unref();
    const stdin = guard.stdin as (NodeJS.WritableStream & { unref?: () => void }) | null;
    stdin?.on('error', () => undefined);
    stdin?.unref?.();
  }
  guard.stdin?.write(`${pid}\n`);
}

/**
 * Runs `npm start` with nothing in its environment but PATH, TMPDIR and the given variables. By default it listens on a free
 * port, without a rate limit. Returns immediately; `startService` waits.
 */
export function spawnService(
  env: Env,
  program: Program = { command: [process.execPath, main] },
): ServiceProcess {
  const [file = '', ...args] = program.command;
  const child = spawn(file, args, {
    cwd: program.cwd,
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: tmpdir(),
      PORT: '0',
      RATE_LIMIT_RPM: '0',
      LOG_FORMAT: 'json',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: LogLine[] = [];
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (line) => {
      output += `${line}\n`;
      const entry = parseLine(line);
      if (entry !== null) log.push(entry);
    });
  }
  const { pid = 0 } = child;
  let exit: ProcessExit | undefined;
  const ended = new Promise<ProcessExit>((resolve, reject) => {
    child.once('error', reject);
    // `close` rather than `exit`: by then all of its output has been read.
    child.once('close', (code, signal) => {
      alive.delete(self);
      resolve((exit = { code, signal }));
    });
  });
  const self: ServiceProcess = {
    pid,
    log,
    ended,
    get url() {
      const url = log.find(({ message }) => message === 'ready')?.url;
      return typeof url === 'string' ? url : '';
    },
    output: () => output,
    kill: (signal) => void child.kill(signal),
    async logged(message, timeout_ms = START_TIMEOUT_MS) {
      const found = await waitFor(
        () => log.find((line) => line.message === message) ?? (exit === undefined ? false : 'ended'),
        { timeout_ms, what: `the line "${message}" of\n${output}` },
      );
      if (found === 'ended') throw new Error(`the service ended before it logged "${message}":\n${output}`);
      return found;
    },
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
  alive.add(self);
  notifyGuard(pid);
  return self;
}

const workerMain = path.resolve(import.meta.dirname, '../../../apps/worker/src/main.mjs');

/** Runs `npm run worker` in the same way. Returns immediately. */
export function spawnWorker(env: Env): ServiceProcess {
  return spawnService(env, { command: [process.execPath, workerMain] });
}

/** Resolves once the process is ready and migrations have run. */
export async function startService(env: Env, program?: Program): Promise<ServiceProcess> {
  const service = spawnService(env, program);
  await service.logged('ready');
  return service;
}

/** Kills this file's remaining service processes, frozen ones too. Runs by itself after a test file (`before-file.ts`). */
export async function killServices(): Promise<void> {
  const left = [...alive];
  for (const service of left) service.kill('SIGKILL');
  await Promise.all(left.map(async ({ ended }) => ended));
}

/** Running processes that work in the folder, or name it on their command line or in their environment. */
export function processesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      const read = (file: string): string => readFileSync(`/proc/${name}/${file}`, 'utf8');
      try {
        if (/^State:\s+[XZ]/m.test(read('status'))) return false;
        const named = read('cmdline').includes(folder) || read('environ').includes(folder);
        return named || readlinkSync(`/proc/${name}/cwd`).startsWith(folder);
      } catch {
        // It exited after the listing, or belongs to another user.
        return false;
      }
    })
    .map(Number);
}

/** Signals all of them, except those that have just ended by themselves. @returns their ids */
export function signalProcessesIn(folder: string, signal: NodeJS.Signals): number[] {
  return processesIn(folder).filter((pid) => {
    try {
      return process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
      throw error;
    }
  });
}

function parseLine(line: string): LogLine | null {
  try {
    const entry: LogLine | null = JSON.parse(line);
    return typeof entry === 'object' && typeof entry?.message === 'string' ? entry : null;
  } catch {
    return null;
  }
}
