import { councilEndpoints as rows } from '@acp/contract';
import { cancelCouncil, conveneCouncil, listCouncils, presentCouncil } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const councilRoutes: Route[] = [
  handle(rows.convene, (c) => conveneCouncil(c.tx, c.actor, c.subject, c.body ?? {})),
  handle(rows.list, async (c) => paged(c, await listCouncils(c.tx, c.subject, c.query))),
  handle(rows.get, (c) => presentCouncil(c.tx, c.subject)),
  handle(rows.cancel, (c) => cancelCouncil(c.tx, c.actor, c.subject)),
];
