import { figureEndpoints as rows } from '@acp/contract';
import { agentFigures, dayFigures } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const figureRoutes: Route[] = [
  handle(rows.days, ({ tx, company_id }) => dayFigures(tx, company_id)),
  handle(rows.agents, ({ tx, company_id }) => agentFigures(tx, company_id)),
];
