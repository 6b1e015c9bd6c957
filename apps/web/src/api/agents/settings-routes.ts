import { agentSettingsEndpoints as rows, taskSessionEndpoints as sessions } from '@acp/contract';
import {
  activatePrompt,
  agentHome,
  agentPermissions,
  createTaskSession,
  listPromptVersions,
  listConfigRevisions,
  listTaskSessions,
  updatePermissions,
  updateTaskSession,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

/** Anything but a number matches no version. */
function versionNumber(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text)) throw notFound();
  return Number(text);
}

export const agentSettingsRoutes: Route[] = [
  handle(rows.home, (c) => agentHome(c.tx, c.subject, c.services.homes)),
  handle(rows.permissions, (c) => agentPermissions(c.subject)),
  handle(rows.updatePermissions, (c) => updatePermissions(c.tx, c.actor, c.subject, c.body)),
  handle(rows.configuration, (c) => c.subject.adapter_config as Record<string, unknown>),
  handle(rows.revisions, async (c) => paged(c, await listConfigRevisions(c.tx, c.subject, c.query))),
  handle(rows.promptVersions, async (c) => paged(c, await listPromptVersions(c.tx, c.subject, c.query))),
  handle(rows.activatePrompt, (c) =>
    activatePrompt(c.tx, c.actor, c.subject, versionNumber(c.params.versionNumber)),
  ),
  handle(sessions.list, async (c) => paged(c, await listTaskSessions(c.tx, c.subject, c.query))),
  handle(sessions.create, (c) => createTaskSession(c.tx, c.actor, c.subject, c.body)),
  handle(sessions.update, (c) => updateTaskSession(c.tx, c.actor, c.subject, c.body)),
];
