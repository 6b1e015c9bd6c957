import { routineEndpoints as rows, routineTriggerEndpoints as triggers } from '@acp/contract';
import {
  createRoutine,
  createTrigger,
  deleteRoutine,
  deleteTrigger,
  fireRoutine,
  listRoutineRuns,
  listRoutines,
  listTriggers,
  presentRoutine,
  promoteRoutine,
  rotateSecret,
  rotateUrl,
  updateRoutine,
  updateTrigger,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { receiveWebhook } from './webhook.ts';

export const routineRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listRoutines(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createRoutine(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentRoutine(c.subject)),
  handle(rows.update, (c) => updateRoutine(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteRoutine(c.tx, c.actor, c.subject)),
  handle(rows.fire, async (c) => {
    const { status, run } = await fireRoutine(c.tx, c.actor, c.subject, c.body);
    return { status, run };
  }),
  handle(rows.listRuns, async (c) => paged(c, await listRoutineRuns(c.tx, c.subject, c.query))),
  handle(rows.listTriggers, async (c) => paged(c, await listTriggers(c.tx, c.actor, c.subject, c.query))),
  handle(rows.createTrigger, (c) => createTrigger(c.tx, c.actor, c.subject, c.body, c.services.vault)),
  handle(rows.promote, (c) => promoteRoutine(c.tx, c.actor, c.subject, c.body)),
  handle(triggers.update, (c) => updateTrigger(c.tx, c.actor, c.subject, c.body)),
  handle(triggers.delete, (c) => deleteTrigger(c.tx, c.actor, c.subject)),
  handle(triggers.rotateSecret, (c) => rotateSecret(c.tx, c.actor, c.subject, c.services.vault)),
  handle(triggers.rotateUrl, (c) => rotateUrl(c.tx, c.actor, c.subject)),
  handle(triggers.firePublic, (c) => receiveWebhook(c)),
];
