import { agentEndpoints as rows, agentOrgEndpoints as org, permits } from '@acp/contract';
import {
  agentDefaults,
  createAgent,
  createAgentKey,
  defaultPrompt,
  deleteAgent,
  deleteAgentKey,
  directReports,
  clearSessions,
  listAgentKeys,
  orgTree,
  pageOfAgents,
  pauseAgent,
  presentAgent,
  requestInstallApproval,
  resumeAgent,
  runtimeState,
  updateAgent,
  updateAgentDefaults,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { testAdapter } from './test-adapter.ts';

export const agentRoutes: Route[] = [
  handle(rows.list, async (c) => ({ agents: paged(c, await pageOfAgents(c.tx, c.actor, c.query)) })),
  handle(rows.create, (c) => {
    const { actor, company_id, body } = c;
    if (actor.kind !== 'agent' || permits(actor.permissions, 'agents.create'))
      return createAgent(c.tx, actor, company_id, body, { rules: c.services.adapters, first_key: true });
    c.status(202);
    return requestInstallApproval(c.tx, actor, { company_id, issue_id: null, kind: 'agent', body });
  }),
  handle(rows.getMe, (c) => presentAgent(c.subject)),
  handle(rows.get, (c) => presentAgent(c.subject)),
  handle(rows.update, (c) =>
    updateAgent(c.tx, c.actor, c.subject, c.body, c.services.homes, c.services.adapters),
  ),
  handle(rows.delete, (c) => deleteAgent(c.tx, c.actor, c.subject)),
  handle(rows.pause, (c) => pauseAgent(c.tx, c.actor, c.subject, c.body?.reason)),
  handle(rows.resume, (c) => resumeAgent(c.tx, c.actor, c.subject)),
  handle(rows.runtimeState, (c) => runtimeState(c.tx, c.subject)),
  handle(rows.testAdapter, (c) => testAdapter(c.services, c.actor, c.subject)),
  handle(rows.testCodexAdapter, (c) => testAdapter(c.services, c.actor, c.subject, 'cli_b_local')),
  handle(rows.clearSession, (c) => clearSessions(c.tx, c.actor, c.subject)),
  handle(rows.createKey, (c) => createAgentKey(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.listKeys, async (c) => paged(c, await listAgentKeys(c.tx, c.subject, c.query))),
  handle(rows.deleteKey, (c) => deleteAgentKey(c.tx, c.actor, c.subject)),
  handle(org.defaults, (c) => agentDefaults(c.tx, c.company_id)),
  handle(org.updateDefaults, (c) =>
    updateAgentDefaults(c.tx, c.actor, c.company_id, c.body, c.services.adapters),
  ),
  handle(org.orgTree, (c) => orgTree(c.tx, c.company_id)),
  handle(org.directReports, async (c) => paged(c, await directReports(c.tx, c.subject, c.query))),
  handle(rows.defaultPrompt, (c) => ({ prompt: defaultPrompt(c.params.role!) })),
];
