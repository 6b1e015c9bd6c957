/** What becomes of the homes of sub-agents: each scheduler removes those that it sees a day after their end. */
import { lstat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { homeOf, outlivedHomes, type OutlivedHome } from '@acp/core';
import type { Database } from '@acp/db';
import { type Config, dropTree, type Logger } from '@acp/kernel';

interface Removal {
  config: Pick<Config, 'home'>;
  database: Database;
  logger: Logger;
}

const BATCH = 500;

/** Homes that somebody has put elsewhere (`home_dir`) stay: they are not the service's to remove. */
export async function removeOutlivedHomes(
  { config, database, logger }: Removal,
  signal: AbortSignal,
): Promise<void> {
  let removed = 0;
  let after: string | null = null;
  do {
    const homes: OutlivedHome[] = await outlivedHomes(database.db, after, BATCH);
    for (const home of homes) if (!signal.aborted && (await removeHome(config.home, home))) removed += 1;
    after = homes.length < BATCH ? null : homes.at(-1)!.agent_id;
  } while (after !== null && !signal.aborted);
  if (removed > 0) logger.info('homes of sub-agents that ended were removed', { homes: removed });
}

async function removeHome(
  service_home: string,
  { agent_id, company_id, company_home_dir }: OutlivedHome,
): Promise<boolean> {
  const company = { id: company_id, slug: '' };
  const home = homeOf(service_home, agent_id, { home_dir: null, company_home_dir, company });
  const found = await lstat(home).catch(() => null);
  if (found === null) return false;
  // By the folder of all homes, held open: what a program has put in the place of its own is a link, and goes as one.
  await dropTree(dirname(home), basename(home));
  return true;
}
