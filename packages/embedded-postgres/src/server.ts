import { spawn } from 'node:child_process';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Logger, unavailable } from '@acp/kernel';
import { dataArgument } from './account.ts';
import type { Account } from './account.ts';
import type { Folder } from './folder.ts';
import { pollUntil, isStillRunning, postgresProcessesIn, runningProcess, sendSignal } from './processes.ts';
import type { ProcessState } from './processes.ts';

export interface Server {
  pid: number;
  started: string;
  port: number;
}

const START_TIMEOUT_MS = 300_000;
const FAST_STOP_MS = 60_000;
const HARD_STOP_MS = 5000;
const LOG_LIMIT_BYTES = 10_000_000;

export class PortTakenError extends Error {}

/** Reads postmaster.pid, if its process really is this folder's postmaster and not dead or a reused pid. */
export async function findServer(folder: Folder): Promise<Server | undefined> {
  const noted = await readPidFile(folder);
  if (noted === undefined) return undefined;
  const live = (await postgresProcessesIn(folder.data)).find((each) => each.pid === noted.pid);
  return live === undefined ? undefined : { pid: live.pid, started: live.started, port: noted.port };
}

async function readPidFile(
  folder: Folder,
): Promise<{ pid: number; port: number; status: string } | undefined> {
  const text = await readFile(path.join(folder.data, 'postmaster.pid'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // pid, data folder, start time, port, socket folder, address, shared memory key, status (miscadmin.h)
  const lines = text.split('\n');
  return { pid: Number(lines[0]), port: Number(lines[3]), status: lines[7]?.trim() ?? '' };
}

/**
 * After a `kill -9`, PostgreSQL refuses to start as long as the recorded pid belongs to any process, even a zombie or an
 * unrelated one. The file is removed once no process of this folder is alive; orphaned backends exit by themselves.
 */
export async function clearRemains(folder: Folder, logger: Logger): Promise<void> {
  const noneLeft = async (): Promise<boolean> => (await postgresProcessesIn(folder.data)).length === 0;
  if (!(await pollUntil(noneLeft, HARD_STOP_MS))) {
    logger.warn('killing the backends left behind by a PostgreSQL that died', { data_dir: folder.data });
    for (const { pid } of await postgresProcessesIn(folder.data)) sendSignal(pid, 'SIGKILL');
    await pollUntil(noneLeft, HARD_STOP_MS);
  }
  await rm(path.join(folder.data, 'postmaster.pid'), { force: true });
}

/** Starts the server and waits until it accepts connections, including crash recovery. */
export async function launchServer(
  folder: Folder,
  postgres: string,
  account: Account,
  settings: Record<string, string | number>,
  signal?: AbortSignal,
): Promise<Server> {
  const log = await openLog(folder);
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const child = spawn(postgres, ['-D', dataArgument(account, folder.data), ...options], {
      ...account,
      cwd: folder.data,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      // In a session of its own: Ctrl-C reaches only the service, which stops its database last.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    let ended: string | undefined;
    child.once('error', (err) => (ended = err.message));
    child.once('exit', (code, how) => (ended = `it ended with ${code ?? how}`));
    child.unref();
    const ready = await pollUntil(
      async () => ended !== undefined || signal?.aborted === true || (await isReady(folder, child.pid)),
      START_TIMEOUT_MS,
    );
    const state = ended === undefined ? await runningProcess(child.pid ?? 0) : undefined;
    if (ready && state !== undefined && signal?.aborted !== true)
      return { pid: state.pid, started: state.started, port: Number(settings.port) };
    if (state !== undefined) await shutDown(folder, state, 'immediate');
    signal?.throwIfAborted();
    throw await startError(folder, ended ?? `it was not ready after ${START_TIMEOUT_MS / 1000} s`);
  } finally {
    await log.close();
  }
}

/** For attaching: the server may just be starting in another process, or be in recovery. */
export async function waitUntilReady(folder: Folder, server: Server): Promise<void> {
  const settled = async (): Promise<boolean> =>
    (await isReady(folder, server.pid)) || !(await isStillRunning(server));
  if (!(await pollUntil(settled, START_TIMEOUT_MS)) || !(await isStillRunning(server))) {
    throw await startError(folder, 'the running PostgreSQL did not become ready');
  }
}

/** Waits a moment: a server that was signalled refuses connections before it exits. */
export async function hasEnded(server: Server): Promise<boolean> {
  return pollUntil(async () => !(await isStillRunning(server)), HARD_STOP_MS);
}

async function isReady(folder: Folder, pid: number | undefined): Promise<boolean> {
  const noted = await readPidFile(folder);
  return noted?.pid === pid && noted?.status === 'ready';
}

async function startError(folder: Folder, reason: string): Promise<Error> {
  const log = await readFile(folder.log, 'utf8').catch(() => '');
  const tail = log.slice(-2000);
  const message = `the embedded PostgreSQL did not start: ${reason}\n${tail}`;
  return tail.includes('could not create any TCP/IP sockets')
    ? new PortTakenError(message)
    : unavailable(message);
}

// One file of old lines is kept; the log contains no statements, so it grows slowly.
async function openLog(folder: Folder): Promise<Awaited<ReturnType<typeof open>>> {
  const size = (await stat(folder.log).catch(() => undefined))?.size ?? 0;
  if (size > LOG_LIMIT_BYTES) await rename(folder.log, `${folder.log}.1`);
  return open(folder.log, 'a', 0o600);
}

/** `fast` ends sessions, writes a checkpoint and waits; if that takes too long, the server is stopped as in a crash. */
export async function shutDown(
  folder: Folder,
  server: ProcessState | Server,
  how: 'fast' | 'immediate',
): Promise<void> {
  const gone = async (): Promise<boolean> => !(await isStillRunning(server));
  if (await gone()) return;
  if (how === 'fast') {
    sendSignal(server.pid, 'SIGINT');
    if (await pollUntil(gone, FAST_STOP_MS)) return;
  }
  sendSignal(server.pid, 'SIGQUIT');
  if (await pollUntil(gone, HARD_STOP_MS)) return;
  for (const { pid } of await postgresProcessesIn(folder.data)) sendSignal(pid, 'SIGKILL');
  await pollUntil(gone, HARD_STOP_MS);
}
