/** Every slice's routes, in slice order. */
import type { Route } from '../http/handle.ts';
import { companyRoutes } from './companies/routes.ts';
import { identityRoutes } from './identity/routes.ts';

export const apiRoutes: readonly Route[] = [identityRoutes, companyRoutes].flat();
