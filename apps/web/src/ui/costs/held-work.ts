/** Why an agent does nothing: a budget holds its work, or somebody has paused it. */
import type { Agent } from '@acp/contract';
import { BUDGET_EXCEEDED, holdingIncidents } from '@acp/core';
import type { Tx } from '@acp/db';
import { each, html, type Html, when } from '../kit/html.ts';
import { say } from '../kit/language.ts';
import { formError } from '../kit/parts.ts';
import { budgetName } from './budget-words.ts';
import { withBudgets } from './incidents.ts';

/** A budget that is used up, as a link to what can be done about it. */
export interface HoldingBudget {
  path: string;
  name: string;
}

/** @param of `project_id`: null if only the agent matters */
export async function holdingBudgets(
  tx: Tx,
  of: { company_id: string; agent_id: string | null; project_id: string | null },
): Promise<HoldingBudget[]> {
  const { company_id, agent_id } = of;
  if (agent_id === null) return [];
  const incidents = await holdingIncidents(tx, { ...of, agent_id });
  const found = await withBudgets(tx, company_id, incidents);
  return found.map(({ incident, usage }) => ({
    path: `/budget-incidents/${incident.id}`,
    name: budgetName(usage),
  }));
}

/** Whether an action was refused because a budget is used up, which is true only as long as it is. */
export const isHeld = (error: string | null): boolean => error === BUDGET_EXCEEDED;

/** The error of an action; one about a budget says which, and leads to it. */
export function refusedBy(error: string | null, budgets: readonly HoldingBudget[]): Html {
  if (!isHeld(error) || budgets.length === 0) return formError(error);
  return each(
    budgets,
    ({ path, name }) =>
      html`<p class="error form-error" role="alert">
        Not started: the budget <a href="${path}">${name}</a> is used up.
      </p>`,
  );
}

/** On an agent's page. */
export function pausedPart(
  agent: Pick<Agent, 'status'>,
  reason: string | null,
  budgets: readonly HoldingBudget[],
): Html {
  if (agent.status !== 'paused') return '';
  if (budgets.length === 0) return when(reason, (text) => html`<p class="notice">Paused: ${say(text)}</p>`);
  return each(
    budgets,
    ({ path, name }) =>
      html`<p class="notice">Paused: the budget <a href="${path}">${name}</a> is used up.</p>`,
  );
}

type Held = { id: string; name: string; status: string } | undefined;

/** On the page of a chat: why no answer comes. */
export const silentPart = (agent: Held, budgets: readonly HoldingBudget[]): Html =>
  reasonOf(
    agent,
    budgets,
    ({ path, name }) =>
      html`<p class="notice">No answers here: the budget <a href="${path}">${name}</a> is used up.</p>`,
    ({ id, name }) =>
      html`<p class="notice">No answers here: <a href="/agents/${id}">${name}</a> is paused.</p>`,
  );

/** On an issue's page: why its assignee does not start. */
export const heldPart = (agent: Held, budgets: readonly HoldingBudget[]): Html =>
  reasonOf(
    agent,
    budgets,
    ({ path, name }) =>
      html`<p class="notice">
        Nothing starts here: the budget <a href="${path}">${name}</a> is used up. The work begins by itself
        once an admin allows it or the budget’s window ends.
      </p>`,
    ({ id, name }) =>
      html`<p class="notice">Nothing starts here: <a href="/agents/${id}">${name}</a> is paused.</p>`,
  );

function reasonOf(
  agent: Held,
  budgets: readonly HoldingBudget[],
  usedUp: (budget: HoldingBudget) => Html,
  paused: (agent: NonNullable<Held>) => Html,
): Html {
  if (budgets.length > 0) return each(budgets, usedUp);
  return agent?.status === 'paused' ? paused(agent) : '';
}
