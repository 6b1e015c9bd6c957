/** Every slice's routes, in slice order. */
import type { HomeRules } from '@acp/core';
import type { Route } from '../http/handle.ts';
import { agentRoutes } from './agents/routes.ts';
import { commentRoutes } from './comments/routes.ts';
import { companyRoutes } from './companies/routes.ts';
import { identityRoutes } from './identity/routes.ts';
import { inboxRoutes } from './inbox/routes.ts';
import { issueRoutes } from './issues/routes.ts';
import { runRoutes } from './runs/routes.ts';

/** @param homes where homes of agents may lie (decisions 7.32); without it none can be set. */
export const routesOf = (homes?: HomeRules): readonly Route[] =>
  [
    identityRoutes,
    companyRoutes,
    agentRoutes(homes),
    issueRoutes,
    commentRoutes,
    runRoutes,
    inboxRoutes,
  ].flat();

export const apiRoutes: readonly Route[] = routesOf();
