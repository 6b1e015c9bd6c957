import { projectEndpoints as rows } from '@acp/contract';
import { createProject, deleteProject, listProjects, presentProject, updateProject } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const projectRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listProjects(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createProject(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentProject(c.subject)),
  handle(rows.update, (c) => updateProject(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteProject(c.tx, c.actor, c.subject)),
];
