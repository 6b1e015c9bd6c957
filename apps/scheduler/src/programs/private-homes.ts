import { join } from 'node:path';
import { whetherEnded } from '@acp/core';
import type { Database } from '@acp/db';
import { dropTree } from '@acp/kernel';
import { isOld, namesIn } from './work-folders.ts';

/**
 * Removes the homes of private runs whose scheduler was killed; all others end with their run.
 * @param top their folder in a company's own @returns how many
 */
export async function clearPrivateHomes(database: Database, top: string): Promise<number> {
  const names = await namesIn(top);
  const ends = await whetherEnded(database.db, names);
  let removed = 0;
  for (const name of names) {
    // One without a known run may belong to a run in progress of another instance.
    if (!(ends.get(name) ?? (await isOld(join(top, name))))) continue;
    await dropTree(top, name);
    removed += 1;
  }
  return removed;
}
