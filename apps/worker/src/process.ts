/** A worker process from start to exit: configuration, log, signals, exit codes. */
import { secretsOf } from '@acp/adapters';
import {
  ConfigError,
  configSecrets,
  createLogger,
  loadWorkerConfig,
  Scrubber,
  serviceVersion,
  Stopper,
} from '@acp/kernel';
import { ownProvider } from './task/provider.ts';
import { startWorker } from './worker.ts';

/** No point in restarting: the environment must be fixed first, or an admin has rejected the worker. */
const EXIT_CONFIG = 78;
const EXIT_TURNED_AWAY = 77;

async function main(): Promise<void> {
  const config = loadWorkerConfig();
  const provider = ownProvider(config);
  const logger = createLogger({
    level: config.log_level,
    format: config.log_format,
    role: 'worker',
    scrubber: new Scrubber([...configSecrets(), ...(provider === null ? [] : secretsOf(provider))]),
  });
  if (config.unknown_variables.length > 0)
    logger.warn('unknown environment variables, perhaps misspelt', { variables: config.unknown_variables });
  const drain_ms = config.drain_timeout_sec * 1000;
  const stopper = new Stopper({ logger, drain_ms, exit: (code) => process.exit(code) });
  stopper.listen();
  const worker = await startWorker({ config, logger }).catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    logger.error('could not start', { error });
    process.exit(1);
  });
  stopper.started(worker);
  logger.info('ready', { url: config.server_url, ...serviceVersion() });
  await worker.turnedAway;
  await worker.stop({ drain_ms: 0, hurry: AbortSignal.abort() });
  process.exit(EXIT_TURNED_AWAY);
}

/** Runs until told to stop. An invalid configuration ends the process. */
export async function runWorker(): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_CONFIG);
  }
}
