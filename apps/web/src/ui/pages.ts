/** All pages and form actions, slice by slice. */
import type { UiRoute } from './kit/ui-routes.ts';
import { boardRoutes } from './issues/board-routes.ts';
import { issueRoutes } from './issues/issue-routes.ts';

export const uiPages: readonly UiRoute[] = [boardRoutes, issueRoutes].flat();
