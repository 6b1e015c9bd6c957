/** The web tier as part of a process: what it opens, and the order in which it stops. The launcher runs migrations. */
import type { Config, Logger } from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { apiRoutes } from './api/index.ts';
import { createApp } from './app.ts';
import { admitKey, openInstanceState, prepareFirstSignIn } from './first-start.ts';
import { healthRouter } from './health/router.ts';
import { createCredentials, dropRevokedImmediately } from './http/credentials.ts';
import { hearOwn } from './http/own-signals.ts';
import { listen, type WebServer } from './http/server.ts';
import { createServices } from './http/services.ts';
import {
  openTierDatabase,
  openTierListener,
  openTierNotifier,
  openTierStorage,
} from './http/tier-connections.ts';
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
  /** URL for creating the first admin while there is no user; else null. */
  setup_url: string | null;
  /** Call it when a rush is over. */
  rest(): Promise<void>;
  /** Lets requests finish (for SERVICE_DRAIN_TIMEOUT_SEC, or the given time) and has live streams reconnect elsewhere. */
  stop(options?: { drain_ms?: number }): Promise<void>;
}

export async function startWeb({ config, logger }: StartOptions): Promise<RunningWeb> {
  const database = openTierDatabase(config, logger, 'web');
  await admitKey(database, config);
  const listener = openTierListener(config, logger);
  const credentials = createCredentials({ database, logger, listener });
  const notifier = dropRevokedImmediately(openTierNotifier(config, logger), credentials);
  database.notifier = notifier;
  const queue = await openQueue({ database, role: 'client', logger });
  const hub = new LiveHub({ database, listener, logger });
  const alerts = new AlertRing({ database, listener, logger });
  const instance = await openInstanceState({ database, listener, config, logger });
  database.notifier = hearOwn(notifier, 'instance', () => instance.outdate());
  await listener.ready();
  await hub.start();
  const storage = await openTierStorage(config, database, logger);
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
  const leave = () => {
    hub.close();
    alerts.close();
    instance.close();
    services.fleet.close();
  };
  const close = async () => {
    await credentials.close();
    await queue.stop();
    await notifier.close();
    await listener.close();
    await database.close();
    storage.close();
  };
  const server = await listen(app, config).catch(async (error: unknown) => {
    leave();
    await close();
    throw error;
  });
  logger.info('the web tier is listening', { url: server.url });
  return {
    url: server.url,
    address: server.address,
    setup_url: setupUrl,
    rest: async () => database.rest(),
    stop: async ({ drain_ms: drainMs = config.drain_timeout_sec * 1000 } = {}) => {
      const drained = server.stop(drainMs);
      leave();
      await drained;
      await close();
    },
  };
}
