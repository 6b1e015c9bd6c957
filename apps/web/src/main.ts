/** The web tier as a process part: what it opens, and in which order it stops. Migrations are the launcher's. */
import { createListener, createNotifier, openDatabase } from '@acp/db';
import type { Database } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { apiRoutes } from './api/index.ts';
import { createApp, createHealthApp } from './app.ts';
import { admitKey, openInstanceState, prepareFirstSignIn } from './first-start.ts';
import { healthRouter } from './health/router.ts';
import { createCredentials, dropRevokedAtOnce } from './http/credentials.ts';
import { listen } from './http/server.ts';
import type { WebServer } from './http/server.ts';
import { createServices } from './http/services.ts';
import { openInstanceStorage } from './instance-storage.ts';
import { AlertRing } from './live/alert-ring.ts';
import { LiveHub } from './live/hub.ts';
import { liveRoutes } from './live/routes.ts';
import { uiRouter } from './ui/router.ts';

interface StartOptions {
  config: Config;
  logger: Logger;
}

export interface RunningWeb {
  url: string;
  address: WebServer['address'];
  /** Where the first admin is created while there is no user; else null. */
  setup_url: string | null;
  /** Lets requests end (for SERVICE_DRAIN_TIMEOUT_SEC, or the time given) and has live streams reconnect elsewhere. */
  stop(options?: { drain_ms?: number }): Promise<void>;
}

// A burst of requests waits for its turn rather than fail; clients and proxies wait a minute at least.
const QUEUE_MS = 20_000;

// A scheduler looks often enough; this only catches what a web process left when no scheduler ran.
const OUTBOX_POLL_MS = 10_000;

export async function startWeb({ config, logger }: StartOptions): Promise<RunningWeb> {
  const database = open(config, logger, 'web');
  await admitKey(database, config);
  const url = directUrl(config);
  const listener = createListener({ url, logger, application_name: 'web-listener' });
  const credentials = createCredentials({ database, logger, listener });
  const notifier = dropRevokedAtOnce(
    createNotifier({ url, logger, application_name: 'web-notifier', poll_ms: OUTBOX_POLL_MS }),
    credentials,
  );
  database.notifier = notifier;
  const queue = await openQueue({ database, role: 'client', logger });
  const hub = new LiveHub({ database, listener, logger });
  const alerts = new AlertRing({ database, listener, logger });
  const instance = await openInstanceState({ database, listener, config, logger });
  await listener.ready();
  await hub.start();
  const storage = await openInstanceStorage(config, database, logger);
  const setupUrl = await prepareFirstSignIn(database, config, logger);

  const services = createServices({ database, config, listener, storage, logger, alerts, instance });
  const app = createApp({
    database,
    logger,
    config,
    listener,
    hub,
    credentials,
    services,
    routes: [...apiRoutes, ...liveRoutes(hub)],
    health: healthRouter({ config, database, streams: () => hub.size }),
    ui: uiRouter({ config, database, credentials, services, logger }),
  });
  const server = await listen(app, config);
  logger.info('the web tier is listening', { url: server.url });
  return {
    url: server.url,
    address: server.address,
    setup_url: setupUrl,
    stop: async ({ drain_ms: drainMs = config.drain_timeout_sec * 1000 } = {}) => {
      const drained = server.stop(drainMs);
      hub.close();
      alerts.close();
      instance.close();
      services.fleet.close();
      await drained;
      await credentials.close();
      await queue.stop();
      await notifier.close();
      await listener.close();
      await database.close();
      storage.close();
    },
  };
}

/** What a process of role `scheduler` serves: health and metrics, nothing else (decisions 7.40). */
export async function startHealthServer({
  config,
  logger,
}: StartOptions): Promise<Pick<RunningWeb, 'url' | 'address' | 'stop'>> {
  const database = open({ ...config, database_pool_size: 2 }, logger, 'health');
  const server = await listen(createHealthApp(healthRouter({ config, database }), logger), config);
  logger.info('health is served', { url: server.url });
  return {
    url: server.url,
    address: server.address,
    stop: async () => {
      await server.stop(1000);
      await database.close();
    },
  };
}

function open(config: Config, logger: Logger, name: string): Database {
  if (config.database_url === null) throw new Error('the web tier needs a database url');
  return openDatabase({
    url: config.database_url,
    max: config.database_pool_size,
    application_name: name,
    logger,
    queue_timeout_ms: QUEUE_MS,
    // Another direct address means that a pooler stands before the database: named statements would get lost.
    prepared_statements: config.database_url === config.database_direct_url,
  });
}

function directUrl(config: Config): string {
  const url = config.database_direct_url ?? config.database_url;
  if (url === null) throw new Error('the web tier needs a database url');
  return url;
}
