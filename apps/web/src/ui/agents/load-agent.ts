/** What an agent's page shows, and its parts, each of which loads only its own. */
import {
  agentFigures,
  budgetUsage,
  findAgent,
  issueNames,
  listRuns,
  listSubagents,
  presentAgent,
  runtimeState,
  spending,
} from '@acp/core';
import { holdingBudgets } from '../costs/held-work.ts';
import type { Html } from '../kit/html.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { type AgentView, latestRuns, type LatestRuns, statePart, type StateView } from './agent-pages.ts';
import { loadOpenIssues, openIssues } from './open-issues.ts';

export type AgentContext = UiContext<'agent'>;

async function loadState({ tx, user, subject, company_id }: AgentContext): Promise<StateView> {
  const { parent_agent_id } = subject;
  const state = await runtimeState(tx, subject);
  return {
    agent: presentAgent(subject),
    parent: parent_agent_id === null ? undefined : await findAgent(tx, parent_agent_id),
    last_error: state.last_error,
    pause_reason: subject.pause_reason,
    held_by: await holdingBudgets(tx, { company_id, agent_id: subject.id, project_id: null }),
    figures: (await agentFigures(tx, company_id, subject.id))[0],
    spend: await spending(tx, { agent_id: subject.id }),
    budgets: await budgetUsage(tx, company_id, { scope_ids: [subject.id] }),
    can_write: mayWrite({ user, company_id }),
  };
}

async function loadRuns({ tx, user, subject, company_id }: AgentContext): Promise<LatestRuns> {
  const runs = (await listRuns(tx, user, company_id, { agentId: subject.id, limit: 10 })).items;
  const ids = runs.map(({ issue_id }) => issue_id);
  return { runs, issues: await issueNames(tx, company_id, ids) };
}

export const loadView = async (context: AgentContext, error: string | null): Promise<AgentView> => ({
  state: await loadState(context),
  latest: await loadRuns(context),
  open: await loadOpenIssues(context.tx, context.subject),
  subagents: await listSubagents(context.tx, { agent_id: context.subject.id }),
  error,
});

/** By the name in their address. */
export const agentParts: Readonly<Record<string, (context: AgentContext) => Promise<Html>>> = {
  issues: async (c) => openIssues(c.subject, await loadOpenIssues(c.tx, c.subject), mayWrite(c)),
  runs: async (c) => latestRuns(await loadRuns(c)),
  state: async (c) => statePart(await loadState(c)),
  subagents: async ({ tx, subject }) => subagentTree(await listSubagents(tx, { agent_id: subject.id })),
};
