import { searchEndpoints as rows } from '@acp/contract';
import { find } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const searchRoutes: Route[] = [
  handle(rows.find, ({ tx, company_id, query }) => find(tx, company_id, query.q ?? '')),
];
