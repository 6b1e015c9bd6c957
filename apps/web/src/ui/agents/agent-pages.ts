import {
  type Agent,
  type AgentKey,
  adapterTypes,
  agentRoles,
  type Provider,
  type Run,
  type Subagent,
} from '@acp/contract';
import type { BudgetUsage } from '@acp/core';
import { usagePart, windowNames } from '../costs/budget-words.ts';
import { budgetsPath } from '../costs/costs-frame.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { money, timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import {
  avatar,
  checkbox,
  emptyState,
  formError,
  input,
  notice,
  postButton,
  select,
  shownOnce,
  status,
  tabs,
  textarea,
} from '../kit/parts.ts';
import { agentTable, chosen, type AgentLine, type AgentsFilter, filterForm } from './agent-list.ts';
import { runTable } from '../runs/runs-pages.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';

type AgentsView = 'list' | 'chart';

/** The agents as the filter has them, or who reports to whom. */
export function agentsPart(lines: readonly AgentLine[], view: AgentsView, filter: AgentsFilter): Html {
  if (view === 'list') return agentTable(chosen(lines, filter));
  return html`<div class="org scroll-x" tabindex="0">!${agentTree(lines.map(({ agent }) => agent))}</div>`;
}

export function agentsBody(
  company_id: string,
  lines: readonly AgentLine[],
  view: AgentsView,
  { filter, query, can_write }: { filter: AgentsFilter; query: string; can_write: boolean },
): Html {
  if (lines.length === 0) {
    const hint = can_write
      ? html`<a href="/companies/${company_id}/agents/new">Hire the first one</a>: a name and a role are
          enough.`
      : html`A member of the company hires agents.`;
    return emptyState('No agents yet', hint);
  }
  const path = `/companies/${company_id}/agents`;
  const chart = `${path}?view=chart`;
  const views = [
    { label: t`List`, path },
    { label: t`Org chart`, path: chart },
  ];
  const source = query === '' ? path : `${path}?${query}`;
  return html`!${tabs('Agents', views, view === 'chart' ? chart : path)}!${when(view === 'list', () => filterForm(path, filter))}
    <div class="card" data-live="agents" data-source="${source}">!${agentsPart(lines, view, filter)}</div>`;
}

/** Who reports to whom, as a list of lists; who reports to nobody stands at the left. */
function agentTree(agents: readonly Agent[]): Html {
  const known = new Set(agents.map(({ id }) => id));
  const byName = agents.toSorted((a, b) => a.name.localeCompare(b.name));
  const under = (boss: string | null): Html => {
    const reports = byName.filter(
      ({ reports_to: to }) => (to !== null && known.has(to) ? to : null) === boss,
    );
    return when(
      reports.length > 0,
      () =>
        html`<ul class="tree">
          !${each(reports, (agent) => html`<li>!${agentLine(agent)}!${under(agent.id)}</li>`)}
        </ul>`,
    );
  };
  return under(null);
}

function agentLine(agent: Agent): Html {
  return html`<div class="agent-line">
    !${avatar(agent.name)}
    <a href="/agents/${agent.id}">${agent.name}</a>
    <span class="soft">${agent.title ?? agent.role}</span>
    <span class="grow"></span>
    !${status(agent.status)}
  </div>`;
}

export interface AgentView {
  agent: Agent;
  agents: readonly Agent[];
  keys: readonly AgentKey[];
  runs: readonly Run[];
  /** Below it, down to the last level. */
  subagents: readonly Subagent[];
  last_error: string | null;
  last_heartbeat_at: Date | string | null;
  spend: { today_usd: number; month_usd: number };
  /** Its own, with what is spent of them. */
  budgets: readonly BudgetUsage[];
  /** Of the company; null for a reader who may not see them. */
  providers: readonly Provider[] | null;
  can_write: boolean;
  /** Of an act; the form has its own. */
  error: string | null;
  refused: Refused | null;
  saved: boolean;
  /** A key that was just minted: shown this once. */
  raw_key: string | null;
}

export function agentBody(view: AgentView): Html {
  const { agent, raw_key, error } = view;
  return html`!${formError(error)}!${notice(view.saved ? 'Saved.' : null)}
    !${when(raw_key, (key) => shownOnce('The new key, shown this once:', key))}
    <div class="columns">
      <div>
        <section class="card">
          <h2>Runs</h2>
          <div
            class="scroll-x"
            tabindex="0"
            data-live="agent:${agent.id}"
            data-source="/agents/${agent.id}/part/runs"
          >
            !${runTable(view.runs)}
          </div>
        </section>
        <div data-live="agents" data-source="/agents/${agent.id}/part/subagents">
          !${subagentTree(view.subagents)}
        </div>
        !${when(
          view.can_write,
          () =>
            html`<section class="card">
              <h2>Configuration</h2>
              !${agentForm(`/agents/${agent.id}/edit`, view, agent, view.refused)}
            </section>`,
        )}
        <section class="card">
          <h2>Keys</h2>
          !${keysPart(view)}
        </section>
      </div>
      <aside class="card" data-live="agent:${agent.id}" data-source="/agents/${agent.id}/part/state">
        !${statePart(view)}
      </aside>
    </div>`;
}

export function statePart(view: AgentView): Html {
  const { agent, last_error, last_heartbeat_at, can_write } = view;
  const post = (verb: string, label: string, style = 'quiet small') =>
    postButton(`/agents/${agent.id}/${verb}`, label, { class: style });
  return html`<p>!${status(agent.status)}</p>
    !${when(last_error, (text) => html`<p class="error">${text}</p>`)}
    <dl class="facts">
      <dt>Role</dt>
      <dd>${agent.role}</dd>
      !${when(
        view.agents.find(({ id }) => id === agent.parent_agent_id),
        (parent) =>
          html`<dt>Spawned by</dt>
            <dd><a href="/agents/${parent.id}">${parent.name}</a></dd>`,
      )}
      <dt>Adapter</dt>
      <dd>${agent.adapter_type}</dd>
      <dt>Model</dt>
      <dd>${agent.model ?? t`the default`}</dd>
      <dt>Heartbeat</dt>
      <dd>${agent.heartbeat_enabled ? t`every ${agent.heartbeat_interval_sec} s` : t`off`}</dd>
      <dt>Last run</dt>
      <dd>!${timeAgo(last_heartbeat_at)}</dd>
      !${spendFacts(view)}
    </dl>
    !${when(
      can_write,
      () =>
        html`<div class="row">
          !${post('invoke', 'Run now')}
          !${agent.status === 'paused' ? post('resume', 'Resume') : post('pause', 'Pause')}
          !${postButton(`/agents/${agent.id}/delete`, 'Dismiss', { class: 'danger small', confirm: t`Dismiss ${agent.name}? Its keys end at once.` })}
        </div>`,
    )}`;
}

function spendFacts({ agent, spend, budgets }: AgentView): Html {
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

function keysPart({ agent, keys, can_write }: AgentView): Html {
  const row = (key: AgentKey): Html =>
    html`<li>
      <code>${key.key_prefix}…</code> <span class="grow">${key.label ?? ''}</span>
      <span class="soft small">!${timeAgo(key.created_at)}</span>
      !${when(can_write, () => postButton(`/agent-keys/${key.id}/revoke`, 'Revoke', { class: 'link small', confirm: 'Revoke this key?' }))}
    </li>`;
  const list =
    keys.length > 0
      ? html`<ul class="list">
          !${each(keys, row)}
        </ul>`
      : html`<p class="soft">No key. An agent that runs elsewhere needs one.</p>`;
  const mint = html`<form method="post" action="/agents/${agent.id}/keys" class="row">
    !${input({ name: 'label', label: 'Label of a new key' })}<button class="quiet">Mint a key</button>
  </form>`;
  return html`!${list}!${when(can_write, () => mint)}`;
}

/** The agent's form came back, with what was typed. */
export interface Refused {
  error: string;
  form: FormValues;
}

const textFields = [
  'name',
  'role',
  'title',
  'reports_to',
  'adapter_type',
  'adapter_config',
  'model',
  'provider_id',
  'system_prompt',
  'heartbeat_interval_sec',
] as const;
type TextField = Exclude<(typeof textFields)[number], 'adapter_config'>;

/** For a new agent and for an existing one. */
export function agentForm(
  path: string,
  { agents, providers }: Pick<AgentView, 'agents' | 'providers'>,
  agent: Agent | null,
  refused: Refused | null,
): Html {
  const typed = refused?.form ?? null;
  const errors = new FieldErrors(refused?.error ?? null, textFields, { configuration: 'adapter_config' });
  const value = (name: TextField): string => typed?.text(name) ?? (agent?.[name] ?? '').toString();
  const bosses = agents
    .filter(({ id }) => id !== agent?.id)
    .map(({ id, name }) => ({ value: id, label: name }));
  const config = typed?.text('adapter_config') ?? JSON.stringify(agent?.adapter_config ?? {}, null, 2);
  const pairs = (values: readonly string[]) => values.map((item) => ({ value: item, label: words(item) }));
  return html`<form method="post" action="${path}">
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', value: value('name'), required: true, error: errors.of('name') })}
      !${select({ name: 'role', label: 'Role', value: value('role') || 'general', choices: pairs(agentRoles) })}
      !${input({ name: 'title', label: 'Title', value: value('title'), error: errors.of('title') })}
    </div>
    <div class="row">
      !${select({ name: 'reports_to', label: 'Reports to', value: value('reports_to'), choices: [{ value: '', label: t`nobody` }, ...bosses], error: errors.of('reports_to') })}
      !${select({ name: 'adapter_type', label: 'Adapter', value: value('adapter_type') || 'llm', choices: pairs(adapterTypes) })}
      !${when(providers, (known) => select({ name: 'provider_id', label: 'Provider', value: value('provider_id'), choices: [{ value: '', label: t`the default` }, ...known.map(({ id, name }) => ({ value: id, label: name }))] }))}
      !${input({ name: 'model', label: 'Model', value: value('model'), hint: 'Empty: the default', error: errors.of('model') })}
    </div>
    !${textarea({ name: 'system_prompt', label: 'System prompt', value: value('system_prompt'), rows: 8, hint: 'Empty for a new agent: the one of its role', error: errors.of('system_prompt') })}
    !${textarea({ name: 'adapter_config', label: 'Adapter configuration (JSON)', value: config, rows: 4, mono: true, error: errors.of('adapter_config') })}
    !${checkbox({ name: 'heartbeat_enabled', label: 'Wake it by a heartbeat', checked: typed ? typed.checked('heartbeat_enabled') : (agent?.heartbeat_enabled ?? false) })}
    !${checkbox({ name: 'externally_available', label: 'Agents of elsewhere may call it (A2A); its name, description and skills are then public', checked: typed ? typed.checked('externally_available') : (agent?.externally_available ?? false) })}
    !${checkbox({ name: 'auto_extract_findings', label: 'After its runs a model writes down findings that others should know', checked: typed ? typed.checked('auto_extract_findings') : (agent?.auto_extract_findings ?? false) })}
    !${input({ name: 'heartbeat_interval_sec', label: 'Seconds between heartbeats', type: 'number', min: 1, value: value('heartbeat_interval_sec') || 300, error: errors.of('heartbeat_interval_sec') })}
    <button>${agent ? t`Save` : t`Hire`}</button>
  </form>`;
}
