import { goalEndpoints as rows } from '@acp/contract';
import { createGoal, deleteGoal, listGoals, presentGoal, updateGoal } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const goalRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listGoals(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createGoal(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentGoal(c.subject)),
  handle(rows.update, (c) => updateGoal(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteGoal(c.tx, c.actor, c.subject)),
];
