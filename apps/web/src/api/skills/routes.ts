import { skillEndpoints as rows } from '@acp/contract';
import {
  attachSkill,
  createSkill,
  deleteSkill,
  detachSkill,
  listSkills,
  presentSkill,
  updateSkill,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const skillRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listSkills(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createSkill(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentSkill(c.subject)),
  handle(rows.update, (c) => updateSkill(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteSkill(c.tx, c.actor, c.subject)),
  handle(rows.attach, (c) => attachSkill(c.tx, c.actor, c.subject, c.params.skillId!)),
  handle(rows.detach, (c) => detachSkill(c.tx, c.actor, c.subject, c.params.skillId!)),
];
