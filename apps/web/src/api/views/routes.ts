import { viewEndpoints as rows } from '@acp/contract';
import { createView, deleteView, listViews, updateView } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const viewRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listViews(c.tx, c.actor, c.company_id, c.query))),
  handle(rows.create, (c) => createView(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.update, (c) => updateView(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteView(c.tx, c.actor, c.subject)),
];
