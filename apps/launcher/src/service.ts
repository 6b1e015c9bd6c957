/** `npm start`: the database, the schema, then the tiers of SERVICE_ROLE; and shutting everything down in reverse. */
import { openInstanceDatabase } from '@acp/embedded-postgres';
import {
  isExposed,
  ConfigError,
  configSecrets,
  createLogger,
  loadConfig,
  Scrubber,
  serviceVersion,
  startTelemetry,
  Stopper,
  type Config,
  type Logger,
  type Stoppable,
} from '@acp/kernel';
import { endStart, releaseMemoryWhenIdle } from './idle-memory.ts';
import { migrateInstance } from './migrate-instance.ts';
import { startTiers } from './roles.ts';

/** A process that can't start says why in one line and exits; the operator's supervisor retries. */
const EXIT_CONFIG = 78;

interface RunningService extends Stoppable {
  /** Its URL; a scheduler only serves health checks. */
  url: string;
  /** Called when a rush is over. */
  rest(): Promise<void>;
}

/** @param signal aborts the start; whatever was started is stopped again. */
export async function startService(
  config: Config,
  logger: Logger,
  signal?: AbortSignal,
): Promise<RunningService> {
  if (config.unknown_variables.length > 0) {
    logger.warn('unknown environment variables, perhaps misspelt', { variables: config.unknown_variables });
  }
  if (config.role !== 'web' && isExposed(config) && config.plugin_binary_allowlist.length === 0)
    logger.warn('plugins may be any file of this machine: set SERVICE_PLUGIN_BINARY_ALLOWLIST');
  const telemetry = await startTelemetry(config);
  const instance = await openInstanceDatabase(config, logger, signal);
  try {
    const direct = { ...config, database_url: instance.url, database_direct_url: instance.direct_url };
    await migrateInstance(instance.direct_url, logger, signal);
    signal?.throwIfAborted();
    const tiers = await startTiers(direct, logger);
    return {
      url: tiers.url,
      rest: async () => tiers.rest(),
      async stop(options) {
        await tiers.stop(options);
        await Promise.all([instance.stop(), telemetry.stop()]);
      },
      kill: async () => instance.kill(),
    };
  } catch (error) {
    await instance.stop();
    throw error;
  }
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
  const stopper = new Stopper({
    logger,
    drain_ms: config.drain_timeout_sec * 1000,
    exit: (code) => process.exit(code),
  });
  stopper.listen();
  try {
    const service = await startService(config, logger, stopper.signal);
    stopper.started(service);
    endStart();
    releaseMemoryWhenIdle(async () => service.rest());
    logger.info('ready', { url: service.url, ...serviceVersion() });
  } catch (error) {
    if (stopper.signal.aborted) process.exit(0);
    if (error instanceof ConfigError) throw error;
    logger.error('could not start', { error });
    process.exit(1);
  }
}

/** The entire life of `npm start`; resolves once it is up. An invalid configuration ends the process. */
export async function runService(): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(EXIT_CONFIG);
  }
}
