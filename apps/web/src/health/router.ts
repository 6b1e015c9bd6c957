/** Health and metrics, for every role (specification, Public endpoints; decisions 7.40). */
import { type Database, migrationStatus } from '@acp/db';
import {
  type Config,
  constantTimeEqual,
  methodNotAllowed,
  serviceVersion,
  unauthenticated,
} from '@acp/kernel';
import { type Request, type Response, Router } from 'express';
import { sql } from 'drizzle-orm';
import { HEALTH_PATHS } from './paths.ts';
import { createMetrics } from './metrics.ts';
import { Readiness, type ReadinessOptions } from './readiness.ts';

interface HealthDependencies extends ReadinessOptions {
  config: Config;
  database: Database;
  streams?: () => number;
}

export function healthRouter({ config, database, streams, ...options }: HealthDependencies): Router {
  const readiness = new Readiness(database, config, options);
  const metrics = createMetrics({ config, database, readiness, ...options, ...(streams && { streams }) });
  const migrated = schemaProbe(database);
  const router = Router();

  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok', ...serviceVersion() });
  });
  router.get('/healthz/live', (_request, response) => {
    response.type('text').send('OK');
  });
  router.get('/healthz/ready', async (_request, response) => {
    const reasons = await readiness.reasonsNotReady(migrated);
    response.type('text').status(reasons.length === 0 ? 200 : 503);
    response.send(reasons.length === 0 ? 'ready' : `not ready: ${reasons.join(', ')}`);
  });
  router.get('/readyz', async (_request, response) => {
    const report = await readiness.report();
    response.status(report.status === 'ready' ? 200 : 503).json(report);
  });
  router.get('/metrics', async (request, response) => {
    if (config.metrics_token !== null) requireToken(request, config.metrics_token);
    response.type(metrics.contentType).send(await metrics.text());
  });
  router.get('/api/health', async (_request: Request, response: Response) => {
    const up = await readiness.isDatabaseUp();
    response
      .status(up ? 200 : 503)
      .json({ status: up ? 'ok' : 'unavailable', db: up ? 'ok' : 'unreachable' });
  });
  router.all([...HEALTH_PATHS], () => {
    throw methodNotAllowed(['GET', 'HEAD']);
  });
  return router;
}

/**
 * Whether the schema is migrated to this release. Once it is, the database only needs to answer: additions by the next
 * release are compatible with this one, which keeps serving until it is replaced.
 */
function schemaProbe(database: Database): () => Promise<boolean> {
  let current = false;
  return async () => {
    if (current) {
      await database.db.execute(sql`select 1`);
      return true;
    }
    const { pending } = await migrationStatus(database.db);
    current = pending === 0;
    return current;
  };
}

function requireToken(request: Request, token: string): void {
  const given = /^Bearer (.+)$/i.exec(request.get('authorization') ?? '')?.[1] ?? '';
  if (!constantTimeEqual(given, token)) throw unauthenticated('wrong metrics token');
}
