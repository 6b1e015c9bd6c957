import { join } from 'node:path';
import type { Database } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { readMarker, type Storage } from '@acp/storage';
import { RepositoryCache } from './repository-cache.ts';
import { SpareFolders } from './spare-folders.ts';

/** What a scheduler keeps workspaces with. */
export interface WorkspaceSources {
  config: Config;
  database: Database;
  logger: Logger;
  storage: Storage;
  vault: Vault;
  cache: RepositoryCache;
  spares: SpareFolders;
  /** The machine's folder, by which others know what lies on it. */
  place(): Promise<string>;
}

export function workspaceSources(
  shared: Omit<WorkspaceSources, 'cache' | 'place' | 'spares'>,
): WorkspaceSources {
  let place: Promise<string> | undefined;
  return {
    ...shared,
    cache: new RepositoryCache(shared.config),
    spares: new SpareFolders(shared.config, shared.logger),
    place: async () => {
      place ??= readMarker(join(shared.config.home, 'workspaces'));
      // A disk that was away for a moment is asked again.
      place.catch(() => (place = undefined));
      return place;
    },
  };
}
