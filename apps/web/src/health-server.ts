/** Health only, for a process of another tier: loads nothing of the API or the pages. */
import type { PoolStats } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import type { Express, RequestHandler } from 'express';
import { healthRouter } from './health/router.ts';
import { bareApp, beginRequest, unknownPath } from './http/begin-request.ts';
import { errorHandler } from './http/errors.ts';
import { rateLimiter } from './http/rate-limit.ts';
import { listen, type WebServer } from './http/server.ts';
import { openTierDatabase } from './http/tier-connections.ts';

interface RunningHealth {
  url: string;
  address: WebServer['address'];
  stop(): Promise<void>;
}

interface HealthServerOptions {
  config: Config;
  logger: Logger;
  /** The connections of the tier that the process runs; default: those of the checks themselves. */
  pool?: (() => PoolStats) | undefined;
}

/** Serves health and metrics for a process of role `scheduler`, nothing else (decisions 7.40). */
export async function startHealthServer({
  config,
  logger,
  pool,
}: HealthServerOptions): Promise<RunningHealth> {
  const database = openTierDatabase({ ...config, database_pool_size: 2 }, logger, 'health');
  const server = await listen(
    createHealthApp(healthRouter({ config, database, pool }), config, logger),
    config,
  );
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

/** Limits requests and reports errors like the web tier. */
export function createHealthApp(
  health: RequestHandler,
  config: Pick<Config, 'rate_limit_rpm' | 'trusted_proxies'>,
  logger: Logger,
): Express {
  const app = bareApp();
  app.use(...beginRequest);
  const limiter = rateLimiter(config);
  if (limiter) app.use(limiter);
  // The API's own is the web tier's.
  app.use('/api', unknownPath);
  app.use(health, unknownPath);
  app.use(errorHandler(logger));
  return app;
}
