/** `npm start`: the database, the schema, then the tiers of SERVICE_ROLE; and all of it down again in turn. */
import { openInstanceDatabase } from '@acp/embedded-postgres';
import {
  ConfigError,
  configSecrets,
  createLogger,
  loadConfig,
  Scrubber,
  serviceVersion,
  type Config,
  type Logger,
} from '@acp/kernel';
import { releaseMemoryWhenIdle } from './idle-memory.ts';
import { migrateInstance } from './migrate-instance.ts';
import { startTiers } from './roles.ts';

/** A process that can't get up says why in one line and ends; the operator's supervisor tries again. */
const EXIT_CONFIG = 78;

export interface RunningService {
  /** Where it listens; a scheduler serves health only. */
  url: string;
  stop(): Promise<void>;
}

export async function startService(config: Config, logger: Logger): Promise<RunningService> {
  if (config.unknown_variables.length > 0) {
    logger.warn('unknown environment variables, perhaps misspelt', { variables: config.unknown_variables });
  }
  const instance = await openInstanceDatabase(config, logger);
  try {
    const direct = { ...config, database_url: instance.url, database_direct_url: instance.direct_url };
    await migrateInstance(instance.direct_url, logger);
    const tiers = await startTiers(direct, logger);
    return {
      url: tiers.url,
      async stop() {
        await tiers.stop();
        await instance.stop();
      },
    };
  } catch (error) {
    await instance.stop();
    throw error;
  }
}

/** Stops once on the first signal; a second one ends the process at once. */
function stopOnSignal(service: RunningService, logger: Logger): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info('stopping', { signal });
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error('the stop was not clean', { error });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

async function main(): Promise<void> {
  const config = loadConfig();
  const scrubber = new Scrubber(configSecrets());
  const logger = createLogger({
    level: config.log_level,
    format: config.log_format,
    role: config.role,
    scrubber,
  });
  process.on('unhandledRejection', (error) => {
    // A defect: state of the process is unknown, the supervisor starts a fresh one and the leases do the rest.
    logger.error('unhandled rejection', { error });
    process.exit(1);
  });
  try {
    const service = await startService(config, logger);
    stopOnSignal(service, logger);
    releaseMemoryWhenIdle();
    logger.info('ready', { url: service.url, ...serviceVersion() });
  } catch (error) {
    logger.error('could not start', { error });
    process.exit(1);
  }
}

/** The whole life of `npm start`; resolves once it is up. A configuration that can't be read ends the process. */
export async function runService(): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(EXIT_CONFIG);
  }
}
