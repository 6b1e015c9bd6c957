import { adminWorkerEndpoints as rows } from '@acp/contract';
import {
  createWorker,
  deleteWorker,
  listAdminWorkers,
  moveWorker,
  queueStats,
  updateWorker,
  workerMoves,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const adminWorkerRoutes: Route[] = [
  handle(rows.queueStats, async (c) => queueStats(c.tx)),
  handle(rows.list, async (c) => {
    const { items, next_cursor } = await listAdminWorkers(c.tx, c.query);
    c.nextPage(next_cursor);
    return items;
  }),
  handle(rows.create, async (c) => createWorker(c.tx, c.actor, c.body)),
  handle(rows.update, async (c) => updateWorker(c.tx, c.actor, c.params.workerId!, c.body)),
  ...workerMoves.map((move) =>
    handle(rows[move], async (c) => moveWorker(c.tx, c.actor, c.params.workerId!, move)),
  ),
  handle(rows.delete, async (c) => deleteWorker(c.tx, c.actor, c.params.workerId!)),
];
