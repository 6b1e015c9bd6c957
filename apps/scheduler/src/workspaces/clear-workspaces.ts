/** Removes the folders of issues, the repositories behind them, and what private runs left. Each scheduler clears its own disk. */
import { opendir, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  abandonFolder,
  companyFolders,
  expiredWorkspaces,
  placesOfWorkspaces,
  workspacesOnMachine,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, dropTree, isUuid, type Logger, newId } from '@acp/kernel';
import { clearForgottenHomes } from '../programs/forgotten-homes.ts';
import { clearPrivateHomes } from '../programs/private-homes.ts';
import { asideFor, folderOf } from './workspace-folder.ts';
import { KNOWN_HOSTS, LOCK } from './repository-cache.ts';
import type { WorkspaceSources } from './sources.ts';

interface Clearing {
  config: Pick<Config, 'home'>;
  database: Database;
  logger: Logger;
  workspaces: WorkspaceSources;
}

const DAY_MS = 24 * 3600 * 1000;
const BATCH = 200;
const MOST_NAMES = 20_000;
/** A folder without a row may be one whose row is being created, or belong to a database that was restored. */
const UNKNOWN_MS = DAY_MS;
/** For workspaces that continued elsewhere, and what was moved aside: someone may ask for it. */
const LEFT_MS = 7 * DAY_MS;
const REPOSITORY_MS = 30 * DAY_MS;

export async function clearWorkspaces(clearing: Clearing, signal: AbortSignal): Promise<void> {
  const { config, database, logger, workspaces } = clearing;
  const place = await workspaces.place();
  let removed = 0;
  for (const outlived of await expiredWorkspaces(database.db, place, BATCH)) {
    if (signal.aborted) return;
    const { folder } = folderOf(config, outlived);
    const gone = `${folder}.${newId()}`;
    const mine = await transaction(database, async (tx) => {
      if (!(await abandonFolder(tx, outlived))) return false;
      // Under its lock, so that the next run finds nothing rather than half of it.
      await rename(folder, gone).catch(() => undefined);
      return true;
    });
    if (mine) await dropTree(join(gone, '..'), basename(gone));
    removed += mine ? 1 : 0;
  }
  const companies = join(config.home, 'companies');
  for (const company_id of await namesIn(companies)) {
    if (signal.aborted) return;
    if (!isUuid(company_id)) continue;
    const { agents, workspaces: folders, private_runs } = companyFolders(config.home, company_id);
    removed += await clearFolders(clearing, folders, place);
    await clearRepositories(clearing, company_id, place, signal);
    removed += await clearPrivateHomes(database, private_runs);
    removed += await clearForgottenHomes(database, agents);
  }
  if (removed > 0) logger.info('folders of issues were removed', { folders: removed });
}

/** Removes folders that are not workspaces of this machine. */
async function clearFolders({ database }: Clearing, top: string, place: string): Promise<number> {
  const names = await namesIn(top);
  const known = await placesOfWorkspaces(database.db, names.filter(isUuid));
  let removed = 0;
  for (const name of names) {
    const folder = join(top, name);
    const where = known.get(name);
    const stays = where === undefined ? UNKNOWN_MS : LEFT_MS;
    if (where !== place && (await isOlder(folder, stays))) {
      await dropTree(top, name);
      removed += 1;
      continue;
    }
    for (const part of await namesIn(folder)) {
      const isLeft = (asideFor(part) ?? 0) > LEFT_MS;
      const isHalf = /^(out|made|state|index)-/.test(part) && (await isOlder(join(folder, part), UNKNOWN_MS));
      if (isLeft || isHalf) await dropTree(folder, part);
    }
  }
  return removed;
}

async function clearRepositories(
  { config, database, workspaces }: Clearing,
  company_id: string,
  place: string,
  signal: AbortSignal,
): Promise<void> {
  const top = companyFolders(config.home, company_id).repositories;
  const names = await namesIn(top);
  if (names.length === 0) return;
  const used = new Map<string, Set<string>>();
  for (const { id, repo_url } of await workspacesOnMachine(database.db, company_id, place)) {
    const name = basename(workspaces.cache.folderOf({ company_id, repo_url }));
    used.set(name, (used.get(name) ?? new Set()).add(id));
  }
  for (const name of names) {
    if (name === KNOWN_HOSTS) continue;
    if (name.endsWith(LOCK)) {
      // The file is empty, and whoever has it locked relies on its name: it is removed long after its repository.
      const isLeft = !names.includes(name.slice(0, -LOCK.length));
      if (isLeft && (await isOlder(join(top, name), REPOSITORY_MS))) await dropTree(top, name);
      continue;
    }
    const known = used.get(name);
    if (known !== undefined)
      await workspaces.cache.keepOnly(join(top, name), known, signal).catch(() => undefined);
    const isHalf = !name.endsWith('.git') && (await isOlder(join(top, name), UNKNOWN_MS));
    const stamp = join(top, name, 'service-fetched');
    if (isHalf || (known === undefined && (await isOlder(stamp, REPOSITORY_MS)))) await dropTree(top, name);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      names.push(name);
      if (names.length >= MOST_NAMES) break;
    }
  } catch {
    // Does not exist: nothing to clear.
  }
  return names;
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > ms;
}
