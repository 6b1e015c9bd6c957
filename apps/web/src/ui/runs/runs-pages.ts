import { type Agent, type Run, type RunEvent, runStatuses } from '@acp/contract';
import { count, duration, money, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { emptyState, formError, postButton, select, status } from '../kit/parts.ts';
import { transcript } from './transcript.ts';

export interface RunsView {
  company_id: string;
  runs: readonly Run[];
  agents: readonly Agent[];
  /** The filter. */
  agent: string;
  status: string;
  next_cursor: string | null;
}

export function runsBody({ company_id, runs, agents, agent, status: state, next_cursor }: RunsView): Html {
  const path = `/companies/${company_id}/runs`;
  const all = { value: '', label: 'all' };
  const filter = new URLSearchParams({ ...(agent ? { agent } : {}), ...(state ? { status: state } : {}) });
  const older = new URLSearchParams(filter);
  if (next_cursor) older.set('cursor', next_cursor);
  return html`<form class="filters row" method="get" action="${path}" data-autosubmit>
      !${select({ name: 'agent', label: 'Agent', value: agent, choices: [all, ...agents.map(({ id, name }) => ({ value: id, label: name }))] })}
      !${select({ name: 'status', label: 'Status', value: state, choices: [all, ...runStatuses.map((value) => ({ value, label: words(value) }))] })}
      <button class="quiet">Filter</button>
    </form>
    <div class="card scroll-x" tabindex="0" data-live="runs" data-source="${path}?${filter.toString()}">
      !${runTable(runs, agents)}
    </div>
    !${when(next_cursor, () => html`<p><a href="${path}?${older.toString()}">Older runs</a></p>`)}`;
}

export function runTable(runs: readonly Run[], agents: readonly Agent[]): Html {
  if (runs.length === 0) {
    return emptyState(
      'No runs here',
      html`A run begins when an agent is given an issue, is mentioned, or its heartbeat is due.`,
    );
  }
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  const row = (run: Run): Html =>
    html`<tr>
      <td>!${status(run.status)}</td>
      <td><a href="/runs/${run.id}">${names.get(run.agent_id) ?? 'an agent'}</a></td>
      <td>${words(run.wake_reason)}</td>
      <td>!${timeAgo(run.created_at)}</td>
      <td class="number">${duration(run.started_at, run.finished_at)}</td>
      <td class="number">${count(run.input_tokens + run.output_tokens)}</td>
      <td>!${money(run.cost_usd)}</td>
      <td class="soft">${run.error ?? (run.summary ?? '').slice(0, 80)}</td>
    </tr>`;
  return html`<table>
    <thead>
      <tr>
        <th>Status</th>
        <th>Agent</th>
        <th>Why</th>
        <th>When</th>
        <th>Took</th>
        <th>Tokens</th>
        <th>Cost</th>
        <th>Outcome</th>
      </tr>
    </thead>
    <tbody>
      !${each(runs, row)}
    </tbody>
  </table>`;
}

export interface RunView {
  run: Run;
  agent: Agent | undefined;
  events: readonly RunEvent[];
  can_cancel: boolean;
  error: string | null;
}

export function runBody(view: RunView): Html {
  const { run, events } = view;
  return html`!${formError(view.error)}
    <div class="columns">
      <section class="card" aria-label="Transcript">
        <h2>Transcript</h2>
        !${transcript(run, events)}
      </section>
      <aside class="card" data-live="run:${run.id}" data-source="/runs/${run.id}/facts">
        !${runFacts(view)}
      </aside>
    </div>`;
}

export function runFacts({ run, agent, can_cancel }: Pick<RunView, 'run' | 'agent' | 'can_cancel'>): Html {
  const live = run.status === 'queued' || run.status === 'running';
  const fact = (name: string, value: Html): Html =>
    html`<dt>${name}</dt>
      <dd>!${value}</dd>`;
  return html`<p>!${status(run.status)}</p>
    !${when(run.error, (error) => html`<p class="error">${error}</p>`)}
    <dl class="facts">
      !${fact('Agent', agent ? html`<a href="/agents/${agent.id}">${agent.name}</a>` : 'an agent')}
      !${run.issue_id ? fact('Issue', html`<a href="/issues/${run.issue_id}">open</a>`) : ''}
      !${fact('Why', html`${words(run.wake_reason)} ${run.trigger_detail ?? ''}`)}
      !${fact('Adapter', html`${run.adapter_type} ${run.model ?? ''}`)}
      !${fact('Created', timeAgo(run.created_at))}
      !${run.started_at ? fact('Took', html`${duration(run.started_at, run.finished_at ?? new Date())}`) : ''}
      !${fact('Tokens read', html`${count(run.input_tokens)} (${count(run.cached_tokens)} cached)`)}
      !${fact('Tokens written', html`${count(run.output_tokens)}`)} !${fact('Cost', money(run.cost_usd))}
      !${run.retry_of_run_id ? fact('Retry of', html`<a href="/runs/${run.retry_of_run_id}">a lost run</a>`) : ''}
    </dl>
    !${when(live && can_cancel, () => postButton(`/runs/${run.id}/cancel`, 'Cancel the run', { class: 'danger small' }))}`;
}
