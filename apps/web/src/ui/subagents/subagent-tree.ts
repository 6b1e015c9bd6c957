import type { Subagent } from '@acp/contract';
import { money, timeAgo } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { avatar, status } from '../kit/parts.ts';

/** In characters: the issue has the full text. */
const PREVIEW = 300;

/** Spawned agents, each under the one that spawned it; empty if there are none. */
export function subagentTree(subagents: readonly Subagent[]): Html {
  if (subagents.length === 0) return '';
  const known = new Set(subagents.map(({ agent_id }) => agent_id));
  const below = (parent: string | null): Html => {
    const own = subagents.filter(({ parent_agent_id: to }) => (known.has(to) ? to : null) === parent);
    return when(
      own.length > 0,
      () =>
        html`<ul class="tree">
          !${each(own, (sub) => html`<li>!${line(sub)}!${below(sub.agent_id)}</li>`)}
        </ul>`,
    );
  };
  return html`<section class="card" aria-label="Sub-agents">
    <h2>Sub-agents</h2>
    <div class="scroll-x" tabindex="0">!${below(null)}</div>
  </section>`;
}

function line(sub: Subagent): Html {
  return html`<div class="agent-line">
      !${avatar(sub.name)}
      !${sub.agent_in_trash ? html`<span>${sub.name}</span>` : html`<a href="/agents/${sub.agent_id}">${sub.name}</a>`}
      !${issueOf(sub)}
      <span class="grow"></span>
      !${when(sub.cost_usd > 0, () => money(sub.cost_usd))}
      !${when(sub.awaits_subagents, () => html`<span class="soft small">waiting for its own sub-agents</span>`)}
      !${when(sub.ended_at, (at) => html`<span class="soft small">!${timeAgo(at)}</span>`)}
      !${status(sub.outcome ?? sub.status)}
    </div>
    !${when(sub.result_markdown, (text) => html`<p class="soft small">${preview(text)}</p>`)}`;
}

const issueOf = ({ issue_id, issue_in_trash, issue_identifier, issue_title }: Subagent): Html =>
  issue_in_trash
    ? html`<span class="soft"><span class="identifier">${issue_identifier}</span> in the trash</span>`
    : html`<a class="soft" href="/issues/${issue_id}"
        ><span class="identifier">${issue_identifier}</span> ${issue_title}</a
      >`;

function preview(text: string): string {
  return text.length <= PREVIEW ? text : `${text.slice(0, PREVIEW).trimEnd()} …`;
}
