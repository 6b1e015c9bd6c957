/** What an issue waits for: the decisions that people are asked for. Empty if there are none. */
import type { Agent, Approval } from '@acp/contract';
import { timeAgo } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';

export function decisionsPart(approvals: readonly Approval[], agents: readonly Agent[]): Html {
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

function askedBy({ requested_by_agent_id }: Approval, agents: readonly Agent[]): string {
  const agent = agents.find(({ id }) => id === requested_by_agent_id);
  return agent === undefined ? t`asked by a person or an integration` : t`asked by ${agent.name}`;
}
