/**
 * An agent's own files and skills, in its home while a program runs there (decisions 6): written in before, and what the
 * program changed in `files/` written back after, so that every scheduler's next run finds it.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import {
  type AgentFileRow,
  checkFilePath,
  type ClaimedRun,
  deleteAgentFile,
  filesForHome,
  findAgent,
  keyLedger,
  lockRun,
  putAgentFile,
} from '@acp/core';
import { type Database, transaction, type Tx } from '@acp/db';
import {
  ensureFolders,
  filesBelow,
  invalid,
  openInside,
  removeInside,
  ServiceError,
  UnsafePlace,
  writeInside,
} from '@acp/kernel';
import { FileStore, type PlacedFile, type Storage } from '@acp/storage';

interface HomeFileSources {
  database: Database;
  storage: Storage;
  /** Repeats what meets a database that is away, for as long as the run is ours. */
  persist: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface KeepFileSources extends HomeFileSources {
  /** Largest file that is written back, in bytes. */
  max_bytes: number;
  /** Aborts when the time for the files is up. */
  signal: AbortSignal;
}

/** The fence refused the write: the run is somebody else's by now. */
export class RunNotHeld extends Error {}

/** What was written into `files/`: hashes by path. */
type HomeFileHashes = ReadonlyMap<string, string>;

const FILES = 'files';
const SKILLS = 'skills';
const MOST = 1000;
const CHUNK = 256 * 1024;

/**
 * Makes `files/` and `skills/` of the home what the agent's rows say; what else an earlier run left there goes, unless
 * another run of the agent is at work in them. A file that is there already is not written again.
 * Throws UnsafePlace where the program has put a link or another file in the way.
 */
export async function writeHomeFiles(
  { database, storage, persist }: HomeFileSources,
  home: string,
  run: Pick<ClaimedRun, 'agent_id' | 'run_id'>,
): Promise<HomeFileHashes> {
  const { files, alone } = await persist(async () => filesForHome(database.db, run));
  const written = new Map<string, string>();
  const wanted = new Set(files.map(placeOf));
  for (const top of [FILES, SKILLS]) {
    await ensureFolders(home, top);
    const left = alone ? await filesBelow(home, top, MOST * 2) : [];
    for (const path of left) if (!wanted.has(`${top}/${path}`)) await removeInside(home, `${top}/${path}`);
  }
  for (const row of files) {
    if (!(await isUpToDate(home, row))) {
      const bytes = await bytesOf(storage, row);
      // Its bytes are missing: the run goes without it, and nothing is said of it when the run ends.
      if (bytes === undefined) continue;
      await writeInside(home, placeOf(row), bytes);
    }
    if (row.kind === 'file') written.set(row.path, row.sha256);
  }
  return written;
}

/**
 * Stores what the run has changed, added or removed below `files/`, in the agent's name, for as long as its fence holds.
 * @returns what could not be kept, in words for the transcript. Throws RunNotHeld, or the reason that `persist` gives.
 */
export async function keepFiles(
  sources: KeepFileSources,
  home: string,
  run: KeepingRun,
  written: HomeFileHashes,
): Promise<string[]> {
  const { database, persist, signal } = sources;
  const agent = await persist(async () => findAgent(database.db, run.agent_id));
  if (agent === undefined) return [];
  const complaints: string[] = [];
  const attempt = async (path: string, work: () => Promise<unknown>): Promise<void> => {
    signal.throwIfAborted();
    try {
      await unlessAborted(persist(work), signal);
    } catch (err) {
      if (!(err instanceof ServiceError || err instanceof UnsafePlace)) throw err;
      complaints.push(`${FILES}/${path} was not kept: ${err.message}`);
    }
  };
  const fenced = async <T>(write: (tx: Tx) => Promise<T>): Promise<T> =>
    transaction(database, async (tx) => {
      const result = await write(tx);
      if (!(await lockRun(tx, run))) throw new RunNotHeld();
      return result;
    });
  try {
    const found = await filesBelow(home, FILES, MOST, signal);
    for (const path of found)
      await attempt(path, async () =>
        keepFile(sources, home, path, { written, agent_id: agent.id }, async (stored) =>
          fenced(async (tx) => putAgentFile(tx, run.actor, agent, path, stored)),
        ),
      );
    // With more files than are looked at, one that was not seen need not be gone.
    const gone = found.length < MOST ? [...written.keys()].filter((path) => !found.includes(path)) : [];
    for (const path of gone)
      await attempt(path, async () =>
        fenced(async (tx) => deleteAgentFile(tx, run.actor, agent, path)).catch(ignoreNotFound),
      );
  } catch (err) {
    if (!signal.aborted || err instanceof RunNotHeld) throw err;
    complaints.push(`${FILES} was not kept as a whole: the time for it was over`);
  }
  return complaints;
}

type KeepingRun = Pick<ClaimedRun, 'agent_id' | 'actor' | 'run_id' | 'company_id' | 'fence'>;

/** Deleted by somebody else, or by an attempt whose answer got lost. */
function ignoreNotFound(err: unknown): void {
  if (!(err instanceof ServiceError) || err.kind !== 'not_found') throw err;
}

/** Its size is looked at before its bytes: a file may claim more than any disk holds. */
async function keepFile(
  { database, storage, max_bytes, signal }: KeepFileSources,
  home: string,
  path: string,
  { written, agent_id }: { written: HomeFileHashes; agent_id: string },
  keep: (stored: PlacedFile) => Promise<unknown>,
): Promise<void> {
  const file = await openInside(home, `${FILES}/${path}`);
  if (file === null) return;
  try {
    const { size } = await file.stat();
    if (size > max_bytes) throw invalid(`it is larger than ${max_bytes} bytes`);
    if ((await hashOf(file, size, signal)) === written.get(path)) return;
    checkFilePath(path);
    const store = new FileStore({ storage, ledger: keyLedger(database.db) });
    const about = { filename: path, content_type: 'application/octet-stream', max_bytes };
    await store.putFile(['agents', agent_id], bytesFrom(file, max_bytes + 1, signal), about, keep);
  } finally {
    await file.close();
  }
}

function placeOf({ kind, path }: Pick<AgentFileRow, 'kind' | 'path'>): string {
  return kind === 'skill' ? `${SKILLS}/${path}/SKILL.md` : `${FILES}/${path}`;
}

async function bytesOf(storage: Storage, row: AgentFileRow): Promise<AsyncIterable<Uint8Array> | undefined> {
  return row.content === null ? storage.get(row.storage_key) : one(Buffer.from(row.content));
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/** Whether a file of that size and hash lies there. */
async function isUpToDate(home: string, row: AgentFileRow): Promise<boolean> {
  const file = await openInside(home, placeOf(row)).catch(() => null);
  if (file === null) return false;
  try {
    return (await file.stat()).size === row.size_bytes && (await hashOf(file, row.size_bytes)) === row.sha256;
  } finally {
    await file.close();
  }
}

/** Hex, of so many bytes at most: a file may grow while it is read. */
async function hashOf(file: FileHandle, size: number, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytesFrom(file, size + 1, signal)) hash.update(chunk);
  return hash.digest('hex');
}

async function* bytesFrom(file: FileHandle, most: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < most;) {
    signal?.throwIfAborted();
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(Math.min(CHUNK, most - at)),
      0,
      null,
      at,
    );
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** What goes on in the background then is refused by the fence, or done in time. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
