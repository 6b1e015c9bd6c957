import { join } from 'node:path';
import type { Config, Logger } from '@acp/kernel';
import { startEmbeddedPostgres } from './start.ts';

export interface InstanceDatabase {
  url: string;
  /** A session connection: LISTEN, migrations, the queue. */
  direct_url: string;
  embedded: boolean;
  /** Gives the embedded server back; it ends with its last user. Nothing to do for an outside one. */
  stop(): Promise<void>;
  /** The same at once, without waiting. */
  kill(): Promise<void>;
}

/** Folder of the embedded server below SERVICE_HOME. */
const FOLDER = 'postgres';

/** The instance's database: the configured one, else the embedded server under SERVICE_HOME, started where needed. */
export async function openInstanceDatabase(
  config: Config,
  logger: Logger,
  signal?: AbortSignal,
): Promise<InstanceDatabase> {
  const { database_url: url } = config;
  if (url !== null) {
    return {
      url,
      direct_url: config.database_direct_url ?? url,
      embedded: false,
      stop: () => Promise.resolve(),
      kill: () => Promise.resolve(),
    };
  }
  const server = await startEmbeddedPostgres({
    data_dir: join(config.home, FOLDER),
    logger,
    watch: true,
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    url: server.url,
    direct_url: server.url,
    embedded: true,
    stop: async () => server.stop(),
    kill: async () => server.kill(),
  };
}
