import {
  type Agent,
  type AgentFigures,
  type AgentKey,
  adapterTypes,
  agentRoles,
  type Provider,
  type Run,
  type Subagent,
} from '@acp/contract';
import type { BudgetUsage } from '@acp/core';
import { usagePart, windowNames } from '../costs/budget-words.ts';
import { sparkline } from '../costs/figures.ts';
import { budgetsPath } from '../costs/costs-frame.ts';
import { answeredBy, type Names } from '../kit/answered-by.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { money, timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';
import {
  checkbox,
  formError,
  input,
  notice,
  postButton,
  select,
  shownOnce,
  status,
  textarea,
} from '../kit/parts.ts';
import { permissionsForm } from './settings-pages.ts';
import { runTable } from '../runs/runs-pages.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';

export interface AgentView {
  agent: Agent;
  agents: readonly Agent[];
  keys: readonly AgentKey[];
  /** Users who answer for the keys. */
  key_names: Names;
  runs: readonly Run[];
  /** All subagents below it, at every level. */
  subagents: readonly Subagent[];
  last_error: string | null;
  /** Why it was paused, if a reason was given. */
  pause_reason: string | null;
  /** Its performance; absent for a terminated agent. */
  figures: AgentFigures | undefined;
  permissions: Readonly<Record<string, boolean>>;
  spend: { today_usd: number; month_usd: number };
  /** The agent's own budgets, with usage. */
  budgets: readonly BudgetUsage[];
  /** The company's providers; null if the reader may not see them. */
  providers: readonly Provider[] | null;
  can_write: boolean;
  /** Error of an action; the form has its own. */
  error: string | null;
  refused: Refused | null;
  saved: boolean;
  /** A newly minted key, shown only once. */
  raw_key: string | null;
}

export function agentBody(view: AgentView): Html {
  const { agent, raw_key, error } = view;
  return html`!${formError(error)}!${notice(view.saved ? 'Saved.' : null)}
    !${when(raw_key, (key) => shownOnce('The new key, shown only once:', key))}
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
          <p class="more">
            <a href="/companies/${agent.company_id}/runs?agent=${agent.id}">All runs of the agent</a>
          </p>
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
          <h2>Permissions</h2>
          !${permissionsForm(agent.id, view.permissions, view.can_write)}
        </section>
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
  const { agent, last_error, can_write } = view;
  const post = (verb: string, label: string, style = 'quiet small') =>
    postButton(`/agents/${agent.id}/${verb}`, label, { class: style });
  return html`<p>!${status(agent.status)}</p>
    !${when(agent.status === 'paused' && view.pause_reason, (reason) => html`<p class="notice">Paused: ${reason}</p>`)}
    !${when(last_error, (text) => html`<p class="error">${text}</p>`)}
    <dl class="facts">
      !${figureFacts(view)}
      <dt>Role</dt>
      <dd>${words(agent.role)}</dd>
      !${when(
        view.agents.find(({ id }) => id === agent.parent_agent_id),
        (parent) =>
          html`<dt>Spawned by</dt>
            <dd><a href="/agents/${parent.id}">${parent.name}</a></dd>`,
      )}
      <dt>Adapter</dt>
      <dd>${words(agent.adapter_type)}</dd>
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
            !${post('invoke', t`Run now`)}
            !${when(agent.status === 'paused', () => post('resume', t`Resume`))}
            !${postButton(`/agents/${agent.id}/delete`, 'Dismiss', { class: 'danger small', confirm: t`Dismiss ${agent.name}? Its keys stop working immediately.` })}
          </div>
          !${when(agent.status !== 'paused', () => pauseForm(agent))}`,
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
function figureFacts({ agent, figures }: AgentView): Html {
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
        html`<dt>Their cost</dt>
          <dd>!${sparkline(t`Cost of ${agent.name}’s latest runs`, runs)}</dd>`,
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

function keysPart({ agent, keys, key_names, can_write }: AgentView): Html {
  const row = (key: AgentKey): Html =>
    html`<li>
      <code>${key.key_prefix}…</code> <span class="grow">${key.label ?? ''}</span>
      <span class="soft small">!${answeredBy(key_names, key)} !${timeAgo(key.created_at)}</span>
      !${when(can_write, () => postButton(`/agent-keys/${key.id}/revoke`, 'Revoke', { class: 'link small', confirm: 'Revoke this key?' }))}
    </li>`;
  const list =
    keys.length > 0
      ? html`<ul class="list">
          !${each(keys, row)}
        </ul>`
      : html`<p class="soft">No keys. An agent that runs elsewhere needs one.</p>`;
  const mint = html`<form method="post" action="/agents/${agent.id}/keys" class="row">
    !${input({ name: 'label', label: 'Label of a new key' })}<button class="quiet">Mint a key</button>
  </form>`;
  return html`!${list}!${when(can_write, () => mint)}`;
}

/** A rejected agent form, with what was typed. */
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

/** Form for a new or an existing agent. */
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
    !${textarea({ name: 'system_prompt', label: 'System prompt', value: value('system_prompt'), rows: 8, hint: 'Empty for a new agent: its role’s default', error: errors.of('system_prompt') })}
    !${textarea({ name: 'adapter_config', label: 'Adapter configuration (JSON)', value: config, rows: 4, mono: true, error: errors.of('adapter_config') })}
    !${checkbox({ name: 'heartbeat_enabled', label: 'Wake it on a heartbeat', checked: typed ? typed.checked('heartbeat_enabled') : (agent?.heartbeat_enabled ?? false) })}
    !${checkbox({ name: 'externally_available', label: 'External agents may call it (A2A); its name, description and skills are then public', checked: typed ? typed.checked('externally_available') : (agent?.externally_available ?? false) })}
    !${checkbox({ name: 'auto_extract_findings', label: 'After its runs, a model records findings that others should know', checked: typed ? typed.checked('auto_extract_findings') : (agent?.auto_extract_findings ?? false) })}
    !${input({ name: 'heartbeat_interval_sec', label: 'Seconds between heartbeats', type: 'number', min: 1, value: value('heartbeat_interval_sec') || 300, error: errors.of('heartbeat_interval_sec') })}
    <button>${agent ? t`Save` : t`Hire`}</button>
  </form>`;
}
