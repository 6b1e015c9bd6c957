import { evolutionEndpoints as rows } from '@acp/contract';
import { cancelEvolution, evolvePrompt, listEvolutions, presentEvolution } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const evolutionRoutes: Route[] = [
  handle(rows.evolve, (c) => evolvePrompt(c.tx, c.actor, c.subject, c.body ?? {})),
  handle(rows.list, async (c) => paged(c, await listEvolutions(c.tx, c.subject, c.query))),
  handle(rows.get, (c) => presentEvolution(c.tx, c.subject)),
  handle(rows.cancel, (c) => cancelEvolution(c.tx, c.actor, c.subject)),
];
