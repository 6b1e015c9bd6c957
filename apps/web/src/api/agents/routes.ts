import { agentEndpoints as rows } from '@acp/contract';
import {
  createAgent,
  createAgentKey,
  defaultPrompt,
  deleteAgent,
  deleteAgentKey,
  listAgentKeys,
  listAgents,
  pauseAgent,
  presentAgent,
  resumeAgent,
  runtimeState,
  updateAgent,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const agentRoutes: Route[] = [
  handle(rows.list, (c) => listAgents(c.tx, c.actor, c.query)),
  handle(rows.create, (c) => createAgent(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.getMe, (c) => presentAgent(c.subject)),
  handle(rows.update, (c) => updateAgent(c.tx, c.actor, c.subject, c.body, c.services.homes)),
  handle(rows.delete, (c) => deleteAgent(c.tx, c.actor, c.subject)),
  handle(rows.pause, (c) => pauseAgent(c.tx, c.actor, c.subject, c.body?.reason)),
  handle(rows.resume, (c) => resumeAgent(c.tx, c.actor, c.subject)),
  handle(rows.runtimeState, (c) => runtimeState(c.tx, c.subject)),
  handle(rows.createKey, (c) => createAgentKey(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.listKeys, (c) => listAgentKeys(c.tx, c.subject)),
  handle(rows.deleteKey, (c) => deleteAgentKey(c.tx, c.actor, c.subject)),
  handle(rows.defaultPrompt, (c) => ({ prompt: defaultPrompt(c.params.role!) })),
];
