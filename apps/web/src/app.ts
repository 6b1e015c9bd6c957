/** The order in which a request passes through the web tier; this file is the one place to read it. */
import { asServiceError, type Database, type Listener } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import type { Express, RequestHandler } from 'express';
import { apiRoutes } from './api/index.ts';
import { accessLog } from './http/access-log.ts';
import { bareApp, beginRequest, unknownPath } from './http/begin-request.ts';
import { createCredentials, type Credentials } from './http/credentials.ts';
import { csrfGuard, ownOriginGuard } from './http/csrf.ts';
import { errorHandler, type RefuseInPage } from './http/errors.ts';
import type { Route } from './http/handle.ts';
import { mount } from './http/mount.ts';
import { isUncounted, rateLimiter } from './http/rate-limit.ts';
import { securityHeaders } from './http/security-headers.ts';
import { createServices, type Services } from './http/services.ts';
import { type ProtocolDeps, protocolRoutes } from './protocol-routes.ts';

interface AppDeps {
  database: Database;
  logger: Logger;
  config: Pick<Config, 'public_url' | 'trusted_proxies' | 'rate_limit_rpm' | 'log_level' | 'a2a_wait_sec'>;
  /** Created for the app if not given; it then does not learn of revocations by other processes. */
  credentials?: Credentials;
  /** Created from database and configuration if not given; commands then stay unanswered. */
  services?: Services;
  /** Notifies of changes by other processes; without it they are noticed within a minute. */
  listener?: Listener;
  hub?: ProtocolDeps['hub'];
  /** Defaults to the slices' routes; those of the live stream are added along with the process's hub. */
  routes?: readonly Route[];
  /** Health and metrics. */
  health?: RequestHandler | undefined;
  /** Pages and their static files. */
  ui?: { pages: RequestHandler; refuse: RefuseInPage } | undefined;
  /** For tests: validates answers against the contract. */
  validate_responses?: boolean;
}

export function createApp(deps: AppDeps): Express {
  const { database, logger, config } = deps;
  const credentials = deps.credentials ?? createCredentials({ database, logger, listener: deps.listener });
  const app = bareApp();
  app.use(beginRequest);
  if (config.log_level === 'debug') app.use(accessLog(logger));
  app.use(securityHeaders(config.public_url));
  const limiter = rateLimiter(config, isUncounted);
  if (limiter) app.use(limiter);
  app.use(csrfGuard(config));
  if (deps.health) app.use(deps.health);
  const acts = deps.routes ?? apiRoutes;
  const services = deps.services ?? createServices({ database, config, logger });
  app.use(afterPause(services));
  const validate_responses = deps.validate_responses ?? false;
  const { trusted_proxies } = config;
  const parts = { database, credentials, services, validate_responses, trusted_proxies, logger };
  const { hub, listener } = deps;
  const routes = [...acts, ...protocolRoutes(acts, { ...parts, config, hub, listener })];
  app.use('/mcp', ownOriginGuard(config));
  app.use(mount(routes, parts));
  // Paths that programs probe: never a page, nor a redirect to one.
  app.use(['/api', '/mcp', '/.well-known'], unknownPath);
  if (deps.ui) app.use(deps.ui.pages);
  app.use(unknownPath);
  app.use(errorHandler(logger, deps.ui?.refuse));
  return app;
}

/** After a pause, or a change made here, flags and license are read anew before anything depends on them. */
function afterPause({ instance }: Services): RequestHandler {
  return async (request, _response, next) => {
    const catchingUp = request.path.startsWith('/static/') ? undefined : instance.afterPause();
    try {
      if (catchingUp !== undefined) await catchingUp;
    } catch (error) {
      throw asServiceError(error) ?? error;
    }
    next();
  };
}
