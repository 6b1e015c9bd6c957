/** What an agent has to do: its most urgent open issues, in the order in which it takes them up. */
import { type Issue, issueStatuses, terminalStatuses } from '@acp/contract';
import { countIssues, openIssuesOf } from '@acp/core';
import type { Tx } from '@acp/db';
import { each, html, type Html, t, when } from '../kit/html.ts';
import { emptyState, priority, status } from '../kit/parts.ts';
import { pathWith } from '../issues/issue-filter.ts';

const SHOWN = 6;
/** Larger numbers mean nothing to readers. */
const MOST_COUNTED = 1000;
const openStatuses = issueStatuses.filter((value) => !terminalStatuses.includes(value));

export interface OpenIssues {
  issues: readonly Issue[];
  count: number;
}

export async function loadOpenIssues(tx: Tx, agent: { id: string; company_id: string }): Promise<OpenIssues> {
  const issues = await openIssuesOf(tx, agent, SHOWN + 1);
  if (issues.length <= SHOWN) return { issues, count: issues.length };
  const open = { assigneeAgentId: agent.id, status: openStatuses.join(',') };
  return {
    issues: issues.slice(0, SHOWN),
    count: await countIssues(tx, agent.company_id, open, MOST_COUNTED),
  };
}

const allOf = (count: number): string =>
  count === MOST_COUNTED ? t`All open issues` : t`All ${count} open issues`;

/** @param agent whose they are @param can_write whether the reader can give it more */
export function openIssues(
  agent: { id: string; company_id: string },
  { issues, count }: OpenIssues,
  can_write: boolean,
): Html {
  const list = `/companies/${agent.company_id}/issues`;
  if (issues.length === 0)
    return emptyState(
      'No open issues',
      can_write
        ? html`<a href="${list}/new">Write one</a> and assign it to the agent.`
        : html`Nothing is assigned to the agent.`,
    );
  const all = pathWith(list, { assignee_agent_id: agent.id, status: openStatuses });
  return html`<ul class="list">
      !${each(
        issues,
        (issue) =>
          html`<li>
            <div class="grow">
              <span class="identifier">${issue.identifier}</span>
              <a href="/issues/${issue.id}">${issue.title}</a>
            </div>
            !${priority(issue.priority)}!${status(issue.status)}
          </li>`,
      )}
    </ul>
    !${when(count > issues.length, () => html`<p class="more"><a href="${all}">${allOf(count)}</a></p>`)}`;
}
