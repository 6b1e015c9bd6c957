/** Removes the homes of sub-agents a day after their end: each scheduler clears those that it can see. */
import { lstat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { homeOf, expiredHomes, type ExpiredHome } from '@acp/core';
import type { Database } from '@acp/db';
import { type Config, dropTree, type Logger } from '@acp/kernel';

interface Removal {
  config: Pick<Config, 'home'>;
  database: Database;
  logger: Logger;
}

const BATCH = 500;

/** Homes that someone has placed elsewhere (`home_dir`) stay: they are not the service's to remove. */
export async function removeExpiredHomes(
  { config, database, logger }: Removal,
  signal: AbortSignal,
): Promise<void> {
  let removed = 0;
  let after: string | null = null;
  do {
    const homes: ExpiredHome[] = await expiredHomes(database.db, after, BATCH);
    for (const home of homes) if (!signal.aborted && (await removeHome(config.home, home))) removed += 1;
    after = homes.length < BATCH ? null : homes.at(-1)!.agent_id;
  } while (after !== null && !signal.aborted);
  if (removed > 0) logger.info('homes of sub-agents that ended were removed', { homes: removed });
}

async function removeHome(
  service_home: string,
  { agent_id, company_id, company_home_dir }: ExpiredHome,
): Promise<boolean> {
  const company = { id: company_id, slug: '' };
  const home = homeOf(service_home, agent_id, { home_dir: null, company_home_dir, company });
  const found = await lstat(home).catch(() => null);
  if (found === null) return false;
  // Deleted through the parent folder, kept open: a link that a program has put in its place is removed as a link.
  await dropTree(dirname(home), basename(home));
  return true;
}
