/** An agent at a glance: its state, figures and latest runs. */
import type { Agent, AgentFigures, Run, Subagent } from '@acp/contract';
import type { BudgetUsage, IssueName } from '@acp/core';
import { usagePart, windowNames } from '../costs/budget-words.ts';
import { sparkline } from '../costs/figures.ts';
import { budgetsPath } from '../costs/costs-frame.ts';
import { type HoldingBudget, pausedPart, refusedBy } from '../costs/held-work.ts';
import { adapterName } from '../kit/adapter-names.ts';
import { money, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { input, postButton, status } from '../kit/parts.ts';
import { runTable } from '../runs/runs-pages.ts';
import { openIssues, type OpenIssues } from './open-issues.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';

export interface AgentView {
  state: StateView;
  latest: LatestRuns;
  open: OpenIssues;
  /** All subagents below it, at every level. */
  subagents: readonly Subagent[];
  /** Error of an action. */
  error: string | null;
}

export interface StateView {
  agent: Agent;
  /** Of the agent that spawned it. */
  parent: Pick<Agent, 'id' | 'name'> | undefined;
  last_error: string | null;
  /** Why it was paused, if a reason was given. */
  pause_reason: string | null;
  /** The budgets that keep it from working. */
  held_by: readonly HoldingBudget[];
  /** Its performance; absent for a terminated agent. */
  figures: AgentFigures | undefined;
  spend: { today_usd: number; month_usd: number };
  /** The agent's own budgets, with usage. */
  budgets: readonly BudgetUsage[];
  can_write: boolean;
}

export interface LatestRuns {
  runs: readonly Run[];
  /** What they are about. */
  issues: ReadonlyMap<string, IssueName>;
}

export function agentBody(view: AgentView): Html {
  const { agent, held_by, can_write } = view.state;
  return html`!${refusedBy(view.error, held_by)}
    <div class="columns">
      <div>
        <section class="card">
          <h2>Open issues</h2>
          <div data-live="issues" data-source="/agents/${agent.id}/part/issues">
            !${openIssues(agent, view.open, can_write)}
          </div>
        </section>
        <section class="card">
          <h2>Runs</h2>
          <div
            class="scroll-x"
            tabindex="0"
            data-live="agent:${agent.id}"
            data-source="/agents/${agent.id}/part/runs"
          >
            !${latestRuns(view.latest)}
          </div>
          <p class="more">
            <a href="/companies/${agent.company_id}/runs?agent=${agent.id}">All runs of the agent</a>
          </p>
        </section>
        <div data-live="agents" data-pace="5000" data-source="/agents/${agent.id}/part/subagents">
          !${subagentTree(view.subagents)}
        </div>
      </div>
      <aside class="card" data-live="agent:${agent.id}" data-source="/agents/${agent.id}/part/state">
        !${statePart(view.state)}
      </aside>
    </div>`;
}

export const latestRuns = ({ runs, issues }: LatestRuns): Html => runTable(runs, { issues });

export function statePart(view: StateView): Html {
  const { agent, parent, last_error, can_write } = view;
  // One that has ended, or that nobody has approved, neither runs nor is paused.
  const works = agent.status !== 'terminated' && agent.status !== 'pending_approval';
  const post = (verb: string, label: string, style = 'quiet small') =>
    postButton(`/agents/${agent.id}/${verb}`, label, { class: style });
  return html`<p>!${status(agent.status)}</p>
    !${pausedPart(agent, view.pause_reason, view.held_by)}
    !${when(last_error, (text) => html`<p class="error">${say(text)}</p>`)}
    <dl class="facts">
      !${figureFacts(view)}
      <dt>Role</dt>
      <dd>${words(agent.role)}</dd>
      !${when(
        parent,
        ({ id, name }) =>
          html`<dt>Spawned by</dt>
            <dd><a href="/agents/${id}">${name}</a></dd>`,
      )}
      <dt>Adapter</dt>
      <dd>${adapterName(agent.adapter_type)}</dd>
      <dt>Model</dt>
      <dd>${agent.model ?? t`the default`}</dd>
      <dt>Heartbeat</dt>
      <dd>${agent.heartbeat_enabled ? t`every ${agent.heartbeat_interval_sec} s` : t`off`}</dd>
      !${spendFacts(view)}
    </dl>
    !${when(
      can_write,
      () =>
        html`<div class="row">
            !${when(works, () => post('invoke', t`Run now`))}
            !${when(agent.status === 'paused', () => post('resume', t`Resume`))}
            !${postButton(`/agents/${agent.id}/delete`, 'Dismiss', { class: 'danger small', confirm: t`Dismiss ${agent.name}? Its keys stop working immediately.` })}
          </div>
          !${when(works && agent.status !== 'paused', () => pauseForm(agent))}`,
    )}`;
}

const pauseForm = ({ id }: Agent): Html =>
  html`<details class="edit" data-fold="pause">
    <summary>Pause</summary>
    <form method="post" action="/agents/${id}/pause">
      !${input({ name: 'reason', id: 'pause-reason', label: 'Why', hint: 'For others, and for yourself next week' })}
      <button class="quiet">Pause it</button>
    </form>
  </details>`;

/** What the agent is doing, and its performance. */
function figureFacts({ agent, figures }: StateView): Html {
  if (figures === undefined) return '';
  const { current_issue, last_run_id, last_run_at, ended, succeeded, runs } = figures;
  return html`<dt>Works on</dt>
    <dd>
      !${
        current_issue === null
          ? html`<span class="soft">nothing right now</span>`
          : html`<a href="/issues/${current_issue.id}" title="${current_issue.title}"
              >${current_issue.identifier}</a
            >`
      }
    </dd>
    <dt>Last run</dt>
    <dd>
      !${last_run_id === null ? timeAgo(null) : html`<a href="/runs/${last_run_id}">!${timeAgo(last_run_at)}</a>`}
    </dd>
    !${when(
      ended > 0,
      () =>
        html`<dt>Success</dt>
          <dd>
            ${plural(ended, '{0} % of the last # run', '{0} % of the last # runs', Math.round((100 * succeeded) / ended))}
          </dd>`,
    )}
    !${when(
      runs.length > 0,
      () =>
        html`<dt>Cost per run</dt>
          <dd>
            !${sparkline(t`Cost of ${agent.name}’s latest runs`, runs)}
            <span class="soft small">!${money(averageOf(runs))} on average</span>
          </dd>`,
    )}`;
}

const averageOf = (runs: readonly { cost_usd: number }[]): number =>
  runs.reduce((sum, { cost_usd }) => sum + cost_usd, 0) / runs.length;

function spendFacts({ agent, spend, budgets }: StateView): Html {
  const path = budgetsPath(agent.company_id);
  return html`<dt>Spent today</dt>
    <dd>!${money(spend.today_usd)}</dd>
    <dt>This month</dt>
    <dd>!${money(spend.month_usd)}</dd>
    !${each(
      budgets,
      (usage) =>
        html`<dt><a href="${path}">Budget</a> ${windowNames[usage.policy.window]}</dt>
          <dd>!${usagePart(usage)}</dd>`,
    )}`;
}
