/** Every slice's routes, in slice order. */
import type { Route } from '../http/handle.ts';
import { agentRoutes } from './agents/routes.ts';
import { commentRoutes } from './comments/routes.ts';
import { inviteRoutes } from './companies/invite-routes.ts';
import { companyRoutes } from './companies/routes.ts';
import { identityRoutes } from './identity/routes.ts';
import { inboxRoutes } from './inbox/routes.ts';
import { issueRoutes } from './issues/routes.ts';
import { runRoutes } from './runs/routes.ts';

export const apiRoutes: readonly Route[] = [
  identityRoutes,
  companyRoutes,
  inviteRoutes,
  agentRoutes,
  issueRoutes,
  commentRoutes,
  runRoutes,
  inboxRoutes,
].flat();
