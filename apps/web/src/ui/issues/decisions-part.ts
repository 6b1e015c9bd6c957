/** What an issue waits for: budgets and pauses that hold its assignee, and decisions that people are asked for. */
import type { Approval } from '@acp/contract';
import { type AgentOutline, agentOutlinesById, openApprovalsOf } from '@acp/core';
import { heldPart, type HoldingBudget, holdingBudgets } from '../costs/held-work.ts';
import { timeAgo } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export interface Waiting {
  held_by: readonly HoldingBudget[];
  part: Html;
}

/** Empty if it waits for nothing. */
export async function whatItWaitsFor({ tx, subject }: UiContext<'issue'>): Promise<Waiting> {
  const { id, company_id, assignee_agent_id, project_id, status } = subject;
  const over = status === 'done' || status === 'cancelled';
  const held_by = over
    ? []
    : await holdingBudgets(tx, { company_id, agent_id: assignee_agent_id, project_id });
  const approvals = await openApprovalsOf(tx, id);
  const agents = await agentOutlinesById(tx, company_id, [
    assignee_agent_id,
    ...approvals.map(({ requested_by_agent_id }) => requested_by_agent_id),
  ]);
  const assignee = agents.find((agent) => !over && agent.id === assignee_agent_id);
  const part = html`!${heldPart(assignee, held_by)}!${decisionsPart(approvals, agents)}`;
  return { held_by, part };
}

function decisionsPart(approvals: readonly Approval[], agents: readonly AgentOutline[]): Html {
  if (approvals.length === 0) return '';
  return html`<section class="card verdict" data-state="warn" aria-label="Waiting for a decision">
    <h2>Waiting for a decision</h2>
    <ul>
      !${each(
        approvals,
        (approval) =>
          html`<li>
            <a href="/approvals/${approval.id}">${approval.title}</a>
            <span class="soft small">${askedBy(approval, agents)} · !${timeAgo(approval.created_at)}</span>
          </li>`,
      )}
    </ul>
  </section>`;
}

function askedBy({ requested_by_agent_id }: Approval, agents: readonly AgentOutline[]): string {
  const agent = agents.find(({ id }) => id === requested_by_agent_id);
  return agent === undefined ? t`asked by a person or an integration` : t`asked by ${agent.name}`;
}
