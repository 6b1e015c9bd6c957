/**
 * Removes working folders. Each is in `work/<run id>` of its agent's home; a session that the run leaves may continue in it,
 * and people may look into it after the run. It is kept as long as the session uses it or its run is retained
 * (`run_retention_days`). Each scheduler clears the homes that it can see.
 */
import { lstat, opendir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { assertHome, whetherEnded, homeOf, type KeptPlace, placesOfIdleAgents } from '@acp/core';
import type { Database } from '@acp/db';
import {
  type Config,
  dropIfEmpty,
  dropTree,
  isUuid,
  type Logger,
  ServiceError,
  UnsafePlace,
} from '@acp/kernel';
import { WORK } from './agent-folders.ts';
import { HeldFolder } from './held-folder.ts';

interface Clearing {
  config: Pick<Config, 'home' | 'home_roots'>;
  database: Database;
  logger: Logger;
}

/** Agents per statement. */
const BATCH = 200;
/** Maximum number of names read per home, and of folders removed per sweep. */
const MOST_NAMES = 1000;
const MOST_REMOVED = 500;
/** A folder without a known run may belong to a run in progress of another instance. */
const UNKNOWN_KEPT_MS = 24 * 3600 * 1000;

export async function sweepWorkFolders(clearing: Clearing, signal: AbortSignal): Promise<void> {
  const { database, logger } = clearing;
  let removed = 0;
  let after: string | null = null;
  do {
    const { places, last } = await placesOfIdleAgents(database.db, after, BATCH);
    for (const place of places) {
      if (signal.aborted || removed >= MOST_REMOVED) break;
      removed += await clearHome(clearing, place).catch((err: unknown) => {
        // A home that leads elsewhere is reported to the agent's owner by the next run.
        if (err instanceof UnsafePlace || (err instanceof ServiceError && err.kind === 'invalid')) return 0;
        throw err;
      });
    }
    after = last;
  } while (after !== null && !signal.aborted && removed < MOST_REMOVED);
  if (removed > 0) logger.info('working folders of former runs were removed', { folders: removed });
}

/** @returns the number of folders removed */
async function clearHome({ config, database }: Clearing, place: KeptPlace): Promise<number> {
  const path = homeOf(config.home, place.agent_id, place);
  // Most agents have never worked on this machine.
  if ((await namesIn(join(path, WORK))).length === 0) return 0;
  const rules = { service_home: config.home, assigned: config.home_roots };
  const held = await HeldFolder.open(await assertHome(place.agent_id, place, rules));
  try {
    const names = (await namesIn(join(held.here, WORK))).filter((name) => !isOfSession(place, name));
    const ends = await whetherEnded(database.db, names);
    let removed = 0;
    for (const name of names) {
      const folder = join(WORK, name);
      const ended = ends.get(name);
      if (ended === true) await dropIfEmpty(held.here, folder);
      else if (ended === undefined && (await isOld(join(held.here, folder))))
        await dropTree(held.here, folder);
      else continue;
      if (!(await exists(join(held.here, folder)))) removed += 1;
    }
    return removed;
  } finally {
    await held.close();
  }
}

/** Names created by the service; anything else there belongs to the agent. */
export async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  let looks = MOST_NAMES;
  try {
    for await (const { name } of await opendir(folder)) {
      if ((looks -= 1) < 0) break;
      if (isUuid(name)) names.push(name);
    }
  } catch {
    // Does not exist, or is not a folder: nothing to clear.
  }
  return names;
}

const isOfSession = ({ session_cwd }: KeptPlace, name: string): boolean =>
  session_cwd !== null && session_cwd.split(sep).includes(name);

export async function isOld(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > UNKNOWN_KEPT_MS;
}

const exists = async (folder: string): Promise<boolean> =>
  lstat(folder).then(
    () => true,
    () => false,
  );
