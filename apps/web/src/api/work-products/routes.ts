import { workProductEndpoints as rows } from '@acp/contract';
import {
  createExecutionDecision,
  createWorkProduct,
  deleteWorkProduct,
  listExecutionDecisions,
  listWorkProducts,
  updateWorkProduct,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const workProductRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listWorkProducts(c.tx, c.subject, c.query))),
  handle(rows.create, (c) => createWorkProduct(c.tx, c.actor, c.subject, c.body)),
  handle(rows.update, (c) => updateWorkProduct(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteWorkProduct(c.tx, c.actor, c.subject)),
  handle(rows.listDecisions, async (c) => paged(c, await listExecutionDecisions(c.tx, c.subject, c.query))),
  handle(rows.createDecision, (c) => createExecutionDecision(c.tx, c.actor, c.subject, c.body)),
];
