import { Agent, createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Database } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import { apiRoutes } from '../../apps/web/src/api/index.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { LiveHub } from '../../apps/web/src/live/hub.ts';
import { liveRoutes } from '../../apps/web/src/live/routes.ts';

export interface WholeApp {
  database: Database;
  hub: LiveHub;
  /** Already listening: given an application, supertest would start a server for each request. */
  server: Server;
  /** For supertest's `agent()`: a connection for each of thousands of requests would cost more than many of the answers. */
  connections: Agent;
  close(): void;
}

/** The web tier's whole API on this file's database; responses that don't fit their schemas are errors. */
export async function startWholeApp(env: Record<string, string> = {}): Promise<WholeApp> {
  const { listener } = await testDatabase();
  const database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const hub = new LiveHub({ database, listener, logger });
  const app = createApp({
    database,
    logger,
    config: loadConfig({ RATE_LIMIT_RPM: '0', ...env }),
    routes: [...apiRoutes, ...liveRoutes(hub)],
    validate_responses: true,
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Neither side closes a connection that the other is about to use.
  server.keepAliveTimeout = 0;
  const connections = new Agent({ keepAlive: true });
  const close = (): void => {
    hub.close();
    connections.destroy();
    server.close();
    server.closeAllConnections();
  };
  return { database, hub, server, connections, close };
}
