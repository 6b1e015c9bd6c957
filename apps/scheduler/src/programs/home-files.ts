/**
 * An agent's own files and skills, placed in its home while a program runs there (decisions 6). They are written before the
 * run, and the program's changes in `files/` are stored after it, so that the next run finds them on any scheduler.
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
  unlessAborted,
  UnsafePlace,
  writeInside,
} from '@acp/kernel';
import { damagedFile, FileStore, type PlacedFile, readIntact, type Storage } from '@acp/storage';

interface HomeFileSources {
  database: Database;
  storage: Storage;
  /** Retries while the database is away, for as long as the run is ours. */
  retryTransient: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface KeepFileSources extends HomeFileSources {
  /** Largest file that is stored, in bytes. */
  max_bytes: number;
  /** Aborts when the time for the files is up. */
  signal: AbortSignal;
}

/** The fence refused the write: the run belongs to someone else by now. */
export class RunNotHeld extends Error {}

/** What was written into `files/`: hashes by path. */
type HomeFileHashes = ReadonlyMap<string, string>;

const FILES = 'files';
const SKILLS = 'skills';
const MOST = 1000;
const CHUNK = 256 * 1024;

/**
 * Makes `files/` and `skills/` of the home match the agent's rows. Anything else left by an earlier run is removed, unless
 * another run of the agent is using them. A file that is already up to date is not written again.
 * Throws UnsafePlace if the program has put a link or another file in the way, and `unavailable` if the store gives other bytes than it
 * was given: the end of the run would keep those as the agent's.
 */
export async function writeHomeFiles(
  { database, storage, retryTransient }: HomeFileSources,
  home: string,
  run: Pick<ClaimedRun, 'agent_id' | 'run_id'>,
): Promise<HomeFileHashes> {
  const { files, alone } = await retryTransient(async () => filesForHome(database.db, run));
  const written = new Map<string, string>();
  const wanted = new Set(files.map(placeOf));
  for (const top of [FILES, SKILLS]) {
    await ensureFolders(home, top);
    const left = alone ? await filesBelow(home, top, MOST * 2) : [];
    for (const path of left) if (!wanted.has(`${top}/${path}`)) await removeInside(home, `${top}/${path}`);
  }
  for (const row of files) {
    if (!(await isUpToDate(home, row))) {
      // Its bytes are missing: the run does without it, and its absence is not treated as a deletion at the end.
      if (!(await lay(storage, home, row))) continue;
    }
    if (row.kind === 'file') written.set(row.path, row.sha256);
  }
  return written;
}

/**
 * Stores what the run has changed, added or removed below `files/`, in the agent's name, as long as its fence is valid.
 * @returns messages for the transcript about what could not be kept. Throws RunNotHeld, or the reason given by `retryTransient`.
 */
export async function keepFiles(
  sources: KeepFileSources,
  home: string,
  run: KeepingRun,
  written: HomeFileHashes,
): Promise<string[]> {
  const { database, retryTransient, signal } = sources;
  const agent = await retryTransient(async () => findAgent(database.db, run.agent_id));
  if (agent === undefined) return [];
  const complaints: string[] = [];
  const attempt = async (path: string, work: () => Promise<unknown>): Promise<void> => {
    signal.throwIfAborted();
    try {
      // What goes on after that is refused by the fence, or finished in time.
      await unlessAborted(retryTransient(work), signal);
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
    // There may be more names than are read: one that was not seen is not necessarily gone.
    const unseen = [...written.keys()].filter((path) => !found.includes(path));
    const left = new Set<string>();
    for (const path of unseen) if (await isFile(home, path)) left.add(path);
    for (const path of [...found, ...left])
      await attempt(path, async () =>
        keepFile(sources, home, path, { written, agent_id: agent.id }, async (stored) =>
          fenced(async (tx) => putAgentFile(tx, run.actor, agent, path, stored)),
        ),
      );
    for (const path of unseen.filter((each) => !left.has(each)))
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

/** Deleted by someone else, or by an attempt whose answer was lost. */
function ignoreNotFound(err: unknown): void {
  if (!(err instanceof ServiceError) || err.kind !== 'not_found') throw err;
}

async function isFile(home: string, path: string): Promise<boolean> {
  const file = await openInside(home, `${FILES}/${path}`).catch((err: unknown) => {
    if (err instanceof UnsafePlace) return null;
    throw err;
  });
  await file?.close();
  return file !== null;
}

/** Checks the size before reading: a file may claim more bytes than any disk has. */
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

/** @returns whether there are bytes of it */
async function lay(storage: Storage, home: string, row: AgentFileRow): Promise<boolean> {
  const place = placeOf(row);
  if (row.content !== null) {
    await writeInside(home, place, one(Buffer.from(row.content)));
    return true;
  }
  const body = await storage.get(row.storage_key);
  if (body === undefined) return false;
  await readIntact(body, row, damagedFile(place), async (bytes) => writeInside(home, place, bytes));
  return true;
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/** Whether a file of that size and hash is already there. */
async function isUpToDate(home: string, row: AgentFileRow): Promise<boolean> {
  const file = await openInside(home, placeOf(row)).catch(() => null);
  if (file === null) return false;
  try {
    return (await file.stat()).size === row.size_bytes && (await hashOf(file, row.size_bytes)) === row.sha256;
  } finally {
    await file.close();
  }
}

/** Returns the hash in hex; the bytes read are bounded, since a file may grow in the meantime. */
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
