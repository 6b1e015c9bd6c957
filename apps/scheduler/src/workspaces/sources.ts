import { join } from 'node:path';
import type { Database } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { readMarker, type Storage } from '@acp/storage';
import { DiskWatch } from '../programs/disk-watch.ts';
import { RepositoryCache } from './repository-cache.ts';
import { SpareFolders } from './spare-folders.ts';

/** What a scheduler needs to maintain workspaces. */
export interface WorkspaceSources {
  config: Config;
  database: Database;
  logger: Logger;
  storage: Storage;
  vault: Vault;
  cache: RepositoryCache;
  spares: SpareFolders;
  /** Ends the run that fills the disk. */
  disk: DiskWatch;
  /** Identifies the machine's folder, so that others know what is stored on it. */
  place(): Promise<string>;
}

export function workspaceSources(
  shared: Omit<WorkspaceSources, 'cache' | 'disk' | 'place' | 'spares'>,
): WorkspaceSources {
  let place: Promise<string> | undefined;
  return {
    ...shared,
    cache: new RepositoryCache(shared.config),
    spares: new SpareFolders(shared.config, shared.logger),
    disk: new DiskWatch(shared.config, shared.logger),
    place: async () => {
      place ??= readMarker(join(shared.config.home, 'workspaces'));
      // Tries again if the disk was only briefly unavailable.
      place.catch(() => (place = undefined));
      return place;
    },
  };
}
