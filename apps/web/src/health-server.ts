/** Health alone, for a process of another tier: nothing of the API or the pages is loaded for it. */
import type { Config, Logger } from '@acp/kernel';
import type { Express, RequestHandler } from 'express';
import { healthRouter } from './health/router.ts';
import { bareApp, beginRequest, unknownPath } from './http/begin-request.ts';
import { errorHandler } from './http/errors.ts';
import { listen, type WebServer } from './http/server.ts';
import { openTierDatabase } from './http/tier-connections.ts';

export interface RunningHealth {
  url: string;
  address: WebServer['address'];
  stop(): Promise<void>;
}

/** What a process of role `scheduler` serves: health and metrics, nothing else (decisions 7.40). */
export async function startHealthServer({
  config,
  logger,
}: {
  config: Config;
  logger: Logger;
}): Promise<RunningHealth> {
  const database = openTierDatabase({ ...config, database_pool_size: 2 }, logger, 'health');
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

/** The same errors as everywhere. */
export function createHealthApp(health: RequestHandler, logger: Logger): Express {
  const app = bareApp();
  app.use(...beginRequest, health, unknownPath);
  app.use(errorHandler(logger));
  return app;
}
