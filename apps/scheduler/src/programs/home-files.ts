/**
 * An agent's own files and skills, in its home while a program runs there (decisions 6): laid in before, and what the
 * program changed in `files/` written back after, so that every scheduler's next run finds it.
 */
import { createHash } from 'node:crypto';
import {
  type AgentFileRow,
  checkFilePath,
  type ClaimedRun,
  deleteAgentFile,
  filesForHome,
  findAgent,
  keyLedger,
  putAgentFile,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import { FileStore, type Storage } from '@acp/storage';
import {
  filesBelow,
  ensureFolders,
  openInside,
  removeInside,
  UnsafePlace,
  writeInside,
} from './safe-files.ts';

export interface HomeFileSources {
  database: Database;
  storage: Storage;
  /** Largest file that is written back, in bytes. */
  max_bytes: number;
}

/** What was laid into `files/`: hashes by path. */
export type LaidFiles = ReadonlyMap<string, string>;

const FILES = 'files';
const SKILLS = 'skills';
const MOST = 1000;

/**
 * Makes `files/` and `skills/` of the home what the agent's rows say; what else an earlier run left there goes, unless
 * another run of the agent is at work in them. A file that is there already is not written again.
 * Throws UnsafePlace where the home fights back.
 */
export async function layFiles(
  { database, storage }: Pick<HomeFileSources, 'database' | 'storage'>,
  home: string,
  run: Pick<ClaimedRun, 'agent_id' | 'run_id'>,
): Promise<LaidFiles> {
  const { files, alone } = await filesForHome(database.db, run);
  const laid = new Map<string, string>();
  const wanted = new Set(files.map(placeOf));
  for (const top of [FILES, SKILLS]) {
    await ensureFolders(home, top);
    const left = alone ? await filesBelow(home, top, MOST * 2) : [];
    for (const path of left) if (!wanted.has(`${top}/${path}`)) await removeInside(home, `${top}/${path}`);
  }
  for (const row of files) {
    if ((await hashOf(home, placeOf(row), row.size_bytes)) !== row.sha256) {
      const bytes = await bytesOf(storage, row);
      // Its bytes are missing: the run goes without it, and nothing is said of it when the run ends.
      if (bytes === undefined) continue;
      await writeInside(home, placeOf(row), bytes);
    }
    if (row.kind === 'file') laid.set(row.path, row.sha256);
  }
  return laid;
}

/**
 * Stores what the run has changed, added or removed below `files/`, in the agent's name.
 * @returns what could not be kept, in words for the transcript
 */
export async function keepFiles(
  sources: HomeFileSources,
  home: string,
  run: Pick<ClaimedRun, 'agent_id' | 'actor'>,
  laid: LaidFiles,
): Promise<string[]> {
  const agent = await findAgent(sources.database.db, run.agent_id);
  if (agent === undefined) return [];
  const complaints: string[] = [];
  const attempt = async (path: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (err) {
      if (!(err instanceof ServiceError || err instanceof UnsafePlace)) throw err;
      complaints.push(`${FILES}/${path} was not kept: ${err.message}`);
    }
  };
  const found = await filesBelow(home, FILES, MOST);
  for (const path of found) {
    const hash = await hashOf(home, `${FILES}/${path}`, null);
    if (hash !== null && hash !== laid.get(path))
      await attempt(path, async () => keepFile(sources, home, run, agent, path));
  }
  // With more files than are looked at, one that was not seen need not be gone.
  if (found.length < MOST) {
    const gone = [...laid.keys()].filter((path) => !found.includes(path));
    for (const path of gone)
      await attempt(path, async () =>
        transaction(sources.database, async (tx) => deleteAgentFile(tx, run.actor, agent, path)),
      );
  }
  return complaints;
}

async function keepFile(
  { database, storage, max_bytes }: HomeFileSources,
  home: string,
  run: Pick<ClaimedRun, 'actor'>,
  agent: NonNullable<Awaited<ReturnType<typeof findAgent>>>,
  path: string,
): Promise<void> {
  checkFilePath(path);
  const file = await openInside(home, `${FILES}/${path}`);
  if (file === null) return;
  const store = new FileStore({ storage, ledger: keyLedger(database.db) });
  const about = { filename: path, content_type: 'application/octet-stream', max_bytes };
  try {
    await store.putFile(
      ['agents', agent.id],
      file.createReadStream({ autoClose: false }),
      about,
      async (stored) => transaction(database, async (tx) => putAgentFile(tx, run.actor, agent, path, stored)),
    );
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

/** Hex; null for what is no file, or not of that size. */
async function hashOf(home: string, place: string, size: number | null): Promise<string | null> {
  const file = await openInside(home, place).catch(() => null);
  if (file === null) return null;
  try {
    if (size !== null && (await file.stat()).size !== size) return null;
    const hash = createHash('sha256');
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Uint8Array);
    return hash.digest('hex');
  } finally {
    await file.close();
  }
}
