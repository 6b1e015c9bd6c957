/** The runs of an issue, as a card of its page. */
import type { IssueDetail, Run, RunEvent } from '@acp/contract';
import {
  type AgentOutline,
  agentOutlinesById,
  type FleetWait,
  fleetWaits,
  listRunEvents,
  listRuns,
  type RefusedVerb,
  refusedVerbs,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { clipped, money, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, plural, t, when } from '../kit/html.ts';
import { say } from '../kit/language.ts';
import { postButton, status } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { hasFailed } from './flags.ts';
import { fleetPart } from '../runs/fleet-wait.ts';
import { FIRST_ENTRIES, transcript } from '../runs/transcript.ts';

export interface RunsOfIssue {
  issue: Pick<IssueDetail, 'id' | 'company_id' | 'assignee_agent_id' | 'run_failed' | 'status'>;
  /** Live runs first, then by age. */
  runs: readonly Run[];
  /** Whether there are older ones. */
  more_runs: boolean;
  /** Events of the runs that are shown with their transcripts, by run. */
  events: ReadonlyMap<string, readonly RunEvent[]>;
  /** What had no effect in those. */
  refused: readonly RefusedVerb[];
  /** Those of them that wait for a remote worker. */
  waits: ReadonlyMap<string, FleetWait>;
  /** The reader may see the fleet. */
  sees_fleet: boolean;
  /** At least those whose runs they are. */
  agents: readonly AgentOutline[];
  can_write: boolean;
}

/** Number of runs whose transcripts are expanded at the same time. */
const MOST_OPEN = 3;

export async function loadRuns({
  tx,
  user,
  subject,
  company_id,
}: UiContext<'issue'>): Promise<Omit<RunsOfIssue, 'issue' | 'can_write'>> {
  const page = await listRuns(tx, user, company_id, { issueId: subject.id, limit: 20 });
  const live = page.items.filter(isLive);
  const runs = [...live, ...page.items.filter((run) => !isLive(run))];
  const events = new Map<string, readonly RunEvent[]>();
  for (const { id } of live.length > 0 ? live.slice(0, MOST_OPEN) : runs.slice(0, 1))
    events.set(id, await listRunEvents(tx, user, id, { limit: FIRST_ENTRIES }));
  const refused = await refusedVerbs(tx, [...events.keys()]);
  const agents = await agentsOf(tx, company_id, runs);
  const waits = await fleetWaits(tx, live);
  const sees_fleet = user.instance_role === 'admin';
  return { runs, more_runs: page.next_cursor !== null, events, refused, waits, sees_fleet, agents };
}

export const agentsOf = async (tx: Tx, company_id: string, runs: readonly Run[]): Promise<AgentOutline[]> =>
  agentOutlinesById(
    tx,
    company_id,
    runs.map(({ agent_id }) => agent_id),
  );

export const nameOf = ({ agent_id }: Run, agents: readonly AgentOutline[]): string =>
  agents.find(({ id }) => id === agent_id)?.name ?? t`an agent`;

export const isLive = ({ status: state }: Pick<Run, 'status'>): boolean =>
  state === 'running' || state === 'queued';

const runLine = (run: Run, agents: readonly AgentOutline[]): Html =>
  html`<li>
    !${status(run.status)}
    <a class="grow" href="/runs/${run.id}">${nameOf(run, agents)}, ${words(run.wake_reason)}</a>
    <span class="soft small">!${timeAgo(run.created_at)}</span>
    !${when(run.cost_usd > 0, () => money(run.cost_usd))}
  </li>`;

/** Live runs, expanded and followed, or else the newest one; then all others. */
export function runPart(view: RunsOfIssue): Html {
  const { issue, runs, more_runs, events, agents } = view;
  const shown = runs.filter(({ id }) => events.has(id));
  if (shown.length === 0) return '';
  const rest = runs.filter(({ id }) => !events.has(id));
  return html`<section class="card run" aria-label="Runs">
    !${each(shown, (run) => openRun(run, view))}
    !${when(
      rest.length > 0,
      () =>
        html`<details data-fold="other-runs">
          <summary>
            ${more_runs ? t`${rest.length} and more other runs` : plural(rest.length, '# other run', '# other runs')}
          </summary>
          <ul class="list">
            !${each(rest, (earlier) => runLine(earlier, agents))}
          </ul>
          !${when(more_runs, () => html`<p class="more"><a href="/companies/${issue.company_id}/runs?issue=${issue.id}">All runs of the issue</a></p>`)}
        </details>`,
    )}
  </section>`;
}

/** Only of the newest run: it is what the issue's flag is about. */
const runAgain = ({ issue, can_write }: RunsOfIssue): Html =>
  when(can_write && hasFailed(issue) && issue.assignee_agent_id, () =>
    postButton(`/issues/${issue.id}/trigger`, 'Run again', { class: 'quiet small' }),
  );

function openRun(run: Run, view: RunsOfIssue): Html {
  const { events, refused, waits, sees_fleet, agents, can_write } = view;
  return html`<div class="comment-head" id="run-${run.id}" tabindex="-1">
      !${status(run.status)} <strong>${nameOf(run, agents)}</strong>
      <span class="soft small">${words(run.wake_reason)} · !${timeAgo(run.created_at)}</span>
      <span class="grow"></span>
      !${when(run.cost_usd > 0, () => money(run.cost_usd))}
      !${when(can_write && isLive(run), () => postButton(`/runs/${run.id}/cancel`, 'Cancel the run', { class: 'quiet small', fields: { back: 'issue' } }))}
      <a class="small" href="/runs/${run.id}">Run</a>
    </div>
    !${fleetPart(waits.get(run.id), sees_fleet)}
    !${when(
      run.error,
      (error) =>
        html`<div class="failed">
          <p class="error">${say(error)}</p>
          !${when(run.status === 'failed', () => runAgain(view))}
        </div>`,
    )}
    !${each(
      refused.filter(({ run_id }) => run_id === run.id),
      ({ line, error }) =>
        html`<p class="error wraps"><code>${clipped(line)}</code> had no effect: ${error ?? ''}</p>`,
    )}
    <details id="work-${run.id}" data-fold="${run.id}" !${isLive(run) ? ' open data-while-live' : ''}>
      <summary>Transcript</summary>
      !${transcript(run, events.get(run.id) ?? [])}
    </details>`;
}
