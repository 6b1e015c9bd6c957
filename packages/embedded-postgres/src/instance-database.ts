import { join } from 'node:path';
import { type Config, type Logger, makeHomeFolder } from '@acp/kernel';
import { startEmbeddedPostgres } from './start.ts';

interface InstanceDatabase {
  url: string;
  /** For connections that need a session: LISTEN, migrations, the queue. */
  direct_url: string;
  embedded: boolean;
  /** Releases the embedded server, which stops with its last user. Does nothing for an external one. */
  stop(): Promise<void>;
  /** The same immediately, without waiting. */
  kill(): Promise<void>;
}

/** Folder of the embedded server below SERVICE_HOME. */
const FOLDER = 'postgres';

/** The configured database, or the embedded server under SERVICE_HOME, started if necessary. */
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
  const data_dir = join(config.home, FOLDER);
  await makeHomeFolder(data_dir);
  const server = await startEmbeddedPostgres({
    data_dir,
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
