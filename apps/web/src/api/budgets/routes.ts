import { budgetEndpoints as rows } from '@acp/contract';
import {
  createBudgetPolicy,
  deleteBudgetPolicy,
  deleteModelPrice,
  listBudgetIncidents,
  listBudgetPolicies,
  listCostEvents,
  listModelPrices,
  reportCost,
  resolveBudgetIncident,
  setModelPrice,
  summarizeCosts,
  updateBudgetPolicy,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const budgetRoutes: Route[] = [
  handle(rows.listPolicies, async (c) => paged(c, await listBudgetPolicies(c.tx, c.company_id, c.query))),
  handle(rows.createPolicy, (c) => createBudgetPolicy(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.updatePolicy, (c) => updateBudgetPolicy(c.tx, c.actor, c.subject, c.body)),
  handle(rows.deletePolicy, (c) => deleteBudgetPolicy(c.tx, c.actor, c.subject)),
  handle(rows.listIncidents, async (c) => paged(c, await listBudgetIncidents(c.tx, c.company_id, c.query))),
  handle(rows.resolveIncident, (c) => resolveBudgetIncident(c.tx, c.actor, c.subject, c.body)),
  handle(rows.listCostEvents, async (c) => paged(c, await listCostEvents(c.tx, c.company_id, c.query))),
  handle(rows.createCostEvent, (c) => reportCost(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.listPrices, async (c) => paged(c, await listModelPrices(c.tx, c.company_id, c.query))),
  handle(rows.setPrice, (c) => setModelPrice(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.deletePrice, (c) => deleteModelPrice(c.tx, c.actor, c.company_id, c.params.priceId!)),
  handle(rows.summary, (c) => summarizeCosts(c.tx, c.company_id, c.query)),
];
