import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { agentsAmong } from '@acp/core';
import type { Database } from '@acp/db';
import { dropTree, isUuid } from '@acp/kernel';

/** An unknown agent may be one of a database that is restored again, or of another instance that uses the folder. */
const STILL_MS = 30 * 24 * 3600_000;
const BATCH = 500;
const MOST_NAMES = 1000;

/**
 * Removes the default homes of agents that are no more, having been purged alone or with their company.
 * @param top their folder in a company's own @returns how many
 */
export async function clearForgottenHomes(database: Database, top: string): Promise<number> {
  let removed = 0;
  for await (const batch of idsIn(top)) {
    const known = await agentsAmong(database.db, batch);
    for (const id of batch) {
      if (known.has(id) || !(await isStill(join(top, id)))) continue;
      await dropTree(top, id);
      removed += 1;
    }
  }
  return removed;
}

/** All of them: those that stay must not hide others. */
async function* idsIn(top: string): AsyncGenerator<string[]> {
  let batch: string[] = [];
  // One that does not exist has none.
  for await (const { name } of await opendir(top).catch(() => [])) {
    if (!isUuid(name)) continue;
    if (batch.push(name) < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

/** Runs change something at the top of the home, or in a folder that is there. */
async function isStill(home: string): Promise<boolean> {
  const before = Date.now() - STILL_MS;
  const changedAt = async (path: string) => (await lstat(path).catch(() => null))?.mtimeMs;
  const own = await changedAt(home);
  // Another scheduler may have been quicker.
  if (own === undefined || own > before) return false;
  let looks = 0;
  for await (const { name } of await opendir(home).catch(() => [])) {
    looks += 1;
    if (looks > MOST_NAMES) break;
    if (((await changedAt(join(home, name))) ?? 0) > before) return false;
  }
  return true;
}
