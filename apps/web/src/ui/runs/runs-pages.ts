import { type EgressRefusal, type Issue, type Run, type RunEvent, runStatuses } from '@acp/contract';
import { adapterName } from '../kit/adapter-names.ts';
import { clipped, count, duration, exactTime, firstWords, money, timeAgo, words } from '../kit/format.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { emptyState, formError, input, postButton, select, status } from '../kit/parts.ts';
import type { AgentOutline, FleetWait, IssueName } from '@acp/core';
import { type Column, moreLink, samePage, table } from '../kit/table.ts';
import { writeHostRule } from '@acp/kernel';
import { fleetPart } from './fleet-wait.ts';
import { runAdvice } from './run-advice.ts';
import { type RunTime, runSteps } from './run-steps.ts';
import { transcript } from './transcript.ts';

interface RunsView {
  company_id: string;
  runs: readonly Run[];
  agents: readonly AgentOutline[];
  offer: Offer;
  /** Why the agent that was typed is none. */
  error: string | null;
  issues: ReadonlyMap<string, IssueName>;
  /** The current filter. */
  agent: string;
  status: string;
  /** Id of the issue to which the runs are limited; '' means all. */
  issue: string;
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
  next_cursor: string | null;
}

export function runsBody(view: RunsView): Html {
  const { offer, agent, status: state, issue, error, query } = view;
  const path = runsPath(view);
  const all = { value: '', label: t`all` };
  return html`<form class="filters row" method="get" action="${path}" data-autosubmit>
      !${choice({ name: 'agent', label: 'Agent', value: error === null ? agent : query.agent, offer, fixed: [all], error })}
      !${select({ name: 'status', label: 'Status', value: state, choices: [all, ...runStatuses.map((value) => ({ value, label: words(value) }))] })}
      !${when(issue, (id) => html`<input type="hidden" name="issue" value="${id}" />`)}
      <button class="quiet">Filter</button>
    </form>
    !${when(
      issue,
      (id) =>
        html`<p class="soft">
          !${when(view.issues.get(id), (about) => html`Runs of !${issueLink(about)} ${about.title}.`)}
          <a href="${path}">Look at the runs of all</a>
        </p>`,
    )}
    <div class="card" data-live="runs" data-source="${samePage(filteredPath(view), view.query)}">
      !${runList(view)}
    </div>`;
}

const runsPath = ({ company_id }: RunsView): string => `/companies/${company_id}/runs`;

function filteredPath(view: RunsView): string {
  const { agent, status: state, issue } = view;
  const filter = new URLSearchParams({
    ...(agent ? { agent } : {}),
    ...(state ? { status: state } : {}),
    ...(issue ? { issue } : {}),
  });
  return filter.size > 0 ? `${runsPath(view)}?${filter.toString()}` : runsPath(view);
}

/** The part that refreshes itself, with the link: new runs push others beyond the end of the list. */
export function runList(view: RunsView): Html {
  const { runs, agents, issues, next_cursor } = view;
  return html`<div class="scroll-x" tabindex="0">!${runTable(runs, { agents, issues })}</div>
    !${moreLink(filteredPath(view), next_cursor, 'Older runs')}`;
}

/** @param of what the runs are about, and whose they are; without agents on the page of a single one, where there is less room */
export function runTable(
  runs: readonly Run[],
  { agents, issues }: { agents?: readonly AgentOutline[]; issues: ReadonlyMap<string, IssueName> },
): Html {
  if (runs.length === 0) {
    return emptyState(
      'No runs here',
      html`A run starts when an agent is assigned an issue or mentioned, or its heartbeat is due.`,
    );
  }
  return table(
    'Runs',
    [
      runColumns[0]!,
      ...(agents === undefined ? [] : [agentColumn(agents)]),
      issueColumn(issues),
      ...runColumns.slice(1).filter((column) => agents !== undefined || ![tokens, took].includes(column)),
    ],
    runs,
  );
}

/** While nothing is booked, a zero would be wrong. */
const isUnknown = ({ finished_at, input_tokens, output_tokens }: Run): boolean =>
  finished_at === null && input_tokens + output_tokens === 0;

const took: Column<Run> = {
  label: 'Took',
  kind: 'number',
  phone: 'plain',
  cell: ({ started_at, finished_at }) => html`${duration(started_at, finished_at)}`,
};

const tokens: Column<Run> = {
  label: 'Tokens',
  kind: 'number',
  phone: 'named',
  cell: (run) => (isUnknown(run) ? '' : html`${count(run.input_tokens + run.output_tokens)}`),
};

const runColumns: readonly Column<Run>[] = [
  {
    label: 'Status',
    phone: 'plain',
    cell: ({ id, status: state }) => html`<a href="/runs/${id}">!${status(state)}</a>`,
  },
  {
    label: 'Why',
    phone: 'plain',
    cell: ({ wake_reason }) => html`<span class="word">${words(wake_reason)}</span>`,
  },
  { label: 'When', phone: 'plain', cell: ({ created_at }) => timeAgo(created_at) },
  took,
  tokens,
  {
    label: 'Cost',
    kind: 'number',
    phone: 'plain',
    cell: (run) => (isUnknown(run) ? '' : money(run.cost_usd)),
  },
  {
    label: 'Outcome',
    phone: 'text',
    cell: ({ error, summary }) =>
      when(
        error === null ? firstWords(summary ?? '') : clipped(say(error)),
        (text) => html`<span class="soft two-lines">${text}</span>`,
      ),
  },
];

function agentColumn(agents: readonly AgentOutline[]): Column<Run> {
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  return {
    label: 'Agent',
    phone: 'plain',
    cell: ({ agent_id }) => {
      const name = names.get(agent_id);
      return name === undefined ? html`${t`an agent`}` : html`<a href="/agents/${agent_id}">${name}</a>`;
    },
  };
}

const issueColumn = (issues: ReadonlyMap<string, IssueName>): Column<Run> => ({
  label: 'Issue',
  phone: 'plain',
  cell: ({ issue_id }) => when(issue_id && issues.get(issue_id), issueLink),
});

/** By its identifier, which fits beside anything; the title is a hint. */
export const issueLink = ({ id, identifier, title }: Pick<IssueName, 'id' | 'identifier' | 'title'>): Html =>
  html`<a class="identifier" href="/issues/${id}" title="${title}">${identifier}</a>`;

interface RunView {
  run: Run;
  agent: AgentOutline | undefined;
  /** Undefined if it is in the trash. */
  issue: (IssueName & Pick<Issue, 'assignee_agent_id'>) | undefined;
  events: readonly RunEvent[];
  time: RunTime;
  /** Category of the run's error. */
  error_category: string | null;
  can_cancel: boolean;
  is_admin: boolean;
  /** Whether the reader may read what was said. */
  readable: boolean;
  /** Whether its programs left changed files. */
  changes: boolean;
  /** Hosts that the run was denied access to. */
  refused: readonly EgressRefusal[];
  /** Undefined unless it waits for a remote worker. */
  waits: FleetWait | undefined;
  /** The reader may see the fleet. */
  sees_fleet: boolean;
  error: string | null;
}

export function runBody(view: RunView): Html {
  const { run, events } = view;
  return html`!${formError(view.error)}
    <div class="columns">
      <div>
        <section
          class="card"
          aria-label="Time"
          data-live="run:${run.id}"
          data-source="/runs/${run.id}/part/steps"
        >
          !${runSteps(run, view.time)}
        </section>
        <section class="card" aria-label="Transcript">
          <h2>Transcript</h2>
          !${when(!view.readable, () => html`<p class="soft">This run answers in a private chat, which only its owner can read.</p>`)}
          !${transcript(run, events)}
        </section>
      </div>
      <aside class="card" data-live="run:${run.id}" data-source="/runs/${run.id}/facts">
        !${runFacts(view)}
      </aside>
    </div>`;
}

export function runFacts({
  run,
  agent,
  issue,
  error_category,
  can_cancel,
  is_admin,
  changes,
  refused,
  waits,
  sees_fleet,
}: Omit<RunView, 'events' | 'time' | 'error'>): Html {
  const live = run.status === 'queued' || run.status === 'running';
  const fact = (name: string, value: Html): Html =>
    html`<dt>${name}</dt>
      <dd>!${value}</dd>`;
  return html`<p data-told id="state" tabindex="-1">!${status(run.status)}</p>
    !${fleetPart(waits, sees_fleet)}
    !${when(
      run.error,
      (error) =>
        html`<p class="error">${say(error)}</p>
          !${runAdvice(error_category, { ...run, is_admin })}`,
    )}
    <dl class="facts">
      !${fact(t`Agent`, agent ? html`<a href="/agents/${agent.id}">${agent.name}</a>` : t`an agent`)}
      !${run.issue_id ? fact(t`Issue`, html`!${when(issue, issueLink)} ${issue ? issue.title : t`in the trash`}`) : ''}
      !${changes && issue ? fact(t`Changes`, html`<a href="/issues/${issue.id}/changes?run=${run.id}">what it changed</a>`) : ''}
      !${fact(t`Why`, html`${words(run.wake_reason)} ${run.trigger_detail ?? ''}`)}
      !${fact(t`Adapter`, html`${adapterName(run.adapter_type)} ${run.model ?? ''}`)}
      !${fact(t`Created`, exactTime(run.created_at))}
      !${run.started_at && !run.finished_at ? fact(t`Started`, exactTime(run.started_at)) : ''}
      !${run.started_at && run.finished_at ? fact(t`Took`, html`${duration(run.started_at, run.finished_at)}`) : ''}
      !${fact(t`Input tokens`, html`${count(run.input_tokens)} (${count(run.cached_tokens)} cached)`)}
      !${fact(t`Output tokens`, html`${count(run.output_tokens)}`)} !${fact(t`Cost`, money(run.cost_usd))}
      !${fact(t`Transcript`, html`<a href="/api/heartbeat-runs/${run.id}/transcript" download>download</a>`)}
      !${live ? '' : fact(t`Before`, html`<a href="/runs/${run.id}/compare">compare with the last run</a>`)}
      !${run.retry_of_run_id ? fact(t`Retry of`, html`<a href="/runs/${run.retry_of_run_id}">a lost run</a>`) : ''}
    </dl>
    !${when(refused.length > 0, () => refusedHosts(run, refused, is_admin))}
    !${when(live && can_cancel, () => postButton(`/runs/${run.id}/cancel`, 'Cancel the run', { class: 'danger small' }))}
    !${when(!live && can_cancel && run.kind === 'heartbeat' && issue, (of) => againForms(of, run))}`;
}

/**
 * Runs again as before, or with another model this once. A remote worker chooses its model itself. It is the assignee that runs:
 * nobody, or somebody else, if the issue was taken from the agent.
 */
function againForms(issue: NonNullable<RunView['issue']>, { agent_id, adapter_type, model }: Run): Html {
  if (issue.assignee_agent_id === null) return '';
  const path = `/issues/${issue.id}/trigger`;
  if (issue.assignee_agent_id !== agent_id)
    return postButton(path, 'Run the assignee', { class: 'quiet small' });
  return html`!${postButton(path, 'Run again', { class: 'quiet small' })}
  !${when(
    adapter_type !== 'remote',
    () =>
      html`<details class="edit" data-fold="other-model">
        <summary>Run again with another model</summary>
        <form method="post" action="${path}">
          !${input({ name: 'model', label: 'Model', required: true, value: model, hint: 'For that run only, with the agent’s provider' })}
          <button class="quiet">Run</button>
        </form>
      </details>`,
  )}`;
}

/** Hosts that the run was denied access to, with a link to the list for those who can change it. */
function refusedHosts({ company_id }: Run, refused: readonly EgressRefusal[], is_admin: boolean): Html {
  return html`<h3>Hosts in use that are not allowed</h3>
    <ul>
      !${each(
        refused,
        ({ host, port, times }) =>
          html`<li>
            <code>${writeHostRule({ host, port })}</code> <span class="soft">${count(times)}×</span>
          </li>`,
      )}
    </ul>
    <p class="soft small">
      !${
        is_admin
          ? html`Admins set the allowed hosts on the page
              <a href="/companies/${company_id}/egress">Network access</a>.`
          : html`Admins set the allowed hosts.`
      }
    </p>`;
}
