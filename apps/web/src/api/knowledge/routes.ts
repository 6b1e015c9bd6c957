import { knowledgeEndpoints as rows } from '@acp/contract';
import { searchKnowledge } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const knowledgeRoutes: Route[] = [
  handle(rows.search, (c) =>
    searchKnowledge(c.tx, c.company_id, { question: c.query.q ?? '', limit: c.query.limit }),
  ),
];
