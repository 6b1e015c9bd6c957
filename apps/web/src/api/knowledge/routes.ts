import { knowledgeEndpoints as rows } from '@acp/contract';
import { handle, type Route } from '../../http/handle.ts';
import { searchFor } from '../../knowledge/search.ts';

export const knowledgeRoutes: Route[] = [
  handle(rows.search, (c) => searchFor(c, c.query.q ?? '', c.query.limit)),
];
