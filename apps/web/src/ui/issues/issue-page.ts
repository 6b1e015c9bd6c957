import type { Agent, CouncilSession, IssueDetail, Run, RunEvent, Subagent, Workspace } from '@acp/contract';
import type { RefusedVerb } from '@acp/core';
import { councilsPart } from '../councils/council-pages.ts';
import { money, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, plural, t, when } from '../kit/html.ts';
import { formError, postButton, status, textarea } from '../kit/parts.ts';
import { promoteForm } from '../routines/promote-form.ts';
import type { Refused } from '../routines/routine-form.ts';
import { transcript } from '../runs/transcript.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { changesCard } from '../workspaces/changes-page.ts';
import { type BelongingsView, besidePart, workPart } from './belongings.ts';
import { description } from './description.ts';
import { issueTabs } from './issue-tabs.ts';
import { propertiesPart, type PropertiesView } from './properties-part.ts';
import { timeline, type TimelineView } from './timeline.ts';

interface RunsOfIssue {
  issue: Pick<IssueDetail, 'id' | 'company_id'>;
  /** Live runs first, then by age. */
  runs: readonly Run[];
  /** Whether there are older ones. */
  more_runs: boolean;
  /** Events of the runs that are shown with their transcripts, by run. */
  events: ReadonlyMap<string, readonly RunEvent[]>;
  /** What had no effect in those. */
  refused: readonly RefusedVerb[];
  agents: readonly Agent[];
  can_write: boolean;
}

export interface IssueView extends BelongingsView, PropertiesView, RunsOfIssue {
  issue: IssueDetail;
  /** The decisions that it waits for, as a part of the page. */
  decisions: Html;
  /** Subagents spawned for the issue, and those below them. */
  subagents: readonly Subagent[];
  /** Null if the feature is off. */
  councils: readonly CouncilSession[] | null;
  /** Null if no program has worked on the issue. */
  workspace: Workspace | null;
  timeline: TimelineView;
  error: string | null;
  /** A rejected comment, so that nothing typed is lost. */
  draft: string;
  /** The rejected form that turns the issue into a routine. */
  promotion: Refused | null;
}

export async function issueBody(view: IssueView): Promise<Html> {
  const { issue } = view;
  return html`<div hidden data-reads-issue="${issue.id}"></div>
    !${issueTabs(issue.id, `/issues/${issue.id}`, view.workspace !== null)}
    <div class="columns">
      <div>
        !${formError(view.error)}
        <div data-live="approvals:${issue.id}" data-source="/issues/${issue.id}/part/decisions">
          !${view.decisions}
        </div>
        <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/description">
          !${await description(view)}
        </div>
        <div data-live="issue:${issue.id}" data-part="run" data-source="/issues/${issue.id}/part/run">
          !${runPart(view)}
        </div>
        <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/work">
          !${workPart(view)}
        </div>
        <div data-live="issue:${issue.id} agents" data-source="/issues/${issue.id}/part/subagents">
          !${subagentTree(view.subagents)}
        </div>
        !${when(
          view.councils,
          (councils) =>
            html`<div
              data-live="council_sessions:${issue.id}"
              data-source="/issues/${issue.id}/part/councils"
            >
              !${councilsPart(issue, councils, view.agents, view.can_write)}
            </div>`,
        )}
        <section aria-label="Activity" class="activities">
          <h2>Activity</h2>
          <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/timeline">
            !${timeline(view.timeline)}
          </div>
          <span id="newest"></span>
        </section>
        !${when(view.can_write, () => commentForm(view))}
      </div>
      <aside>
        <div class="card" data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/properties">
          !${propertiesPart(view)}
        </div>
        <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/beside">
          !${besidePart(view)}
        </div>
        <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/changes">
          !${changesCard(view.workspace)}
        </div>
        !${when(view.can_write, () => promoteForm(issue, view.promotion))}
        !${when(view.can_write, () => html`<p>!${postButton(`/issues/${issue.id}/delete`, 'Move to the trash', { class: 'danger small' })}</p>`)}
      </aside>
    </div>`;
}

const nameOf = ({ agent_id }: Run, agents: readonly Agent[]): string =>
  agents.find(({ id }) => id === agent_id)?.name ?? t`an agent`;

export const isLive = ({ status: state }: Pick<Run, 'status'>): boolean =>
  state === 'running' || state === 'queued';

const runLine = (run: Run, agents: readonly Agent[]): Html =>
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

function openRun(run: Run, { events, refused, agents, can_write }: RunsOfIssue): Html {
  return html`<div class="comment-head" id="run-${run.id}" tabindex="-1">
      !${status(run.status)} <strong>${nameOf(run, agents)}</strong>
      <span class="soft small">${words(run.wake_reason)} · !${timeAgo(run.created_at)}</span>
      <span class="grow"></span>
      !${when(run.cost_usd > 0, () => money(run.cost_usd))}
      !${when(can_write && isLive(run), () => postButton(`/runs/${run.id}/cancel`, 'Cancel the run', { class: 'quiet small', fields: { back: 'issue' } }))}
      <a class="small" href="/runs/${run.id}">Run</a>
    </div>
    !${when(run.error, (error) => html`<p class="error">${error}</p>`)}
    !${each(
      refused.filter(({ run_id }) => run_id === run.id),
      ({ verb, error }) => html`<p class="error"><code>/${verb}</code> had no effect: ${error ?? ''}</p>`,
    )}
    <details data-fold="${run.id}" !${isLive(run) ? ' open data-while-live' : ''}>
      <summary>Transcript</summary>
      !${transcript(run, events.get(run.id) ?? [])}
    </details>`;
}

/** Always in sight. Completes names and issues, takes dropped files, and submits on Ctrl-Enter. */
function commentForm({ issue, draft }: IssueView): Html {
  return html`<form
    class="card comment-form"
    method="post"
    action="/issues/${issue.id}/comments"
    data-composer
    data-draft
    data-files="/api/issues/${issue.id}/attachments"
    data-preview="/companies/${issue.company_id}/preview"
  >
    <text-expander keys="@ #">
      !${textarea({
        name: 'body_markdown',
        id: 'comment',
        label: 'Your comment',
        value: draft,
        rows: 2,
        required: true,
        hint: 'Markdown. @Name wakes an agent; the assignee is woken anyway. # finds an issue, files can be dropped.',
      })}
    </text-expander>
    <div class="preview" data-preview-place hidden></div>
    !${when(issue.status === 'blocked', () => html`<label class="check"><input type="checkbox" name="resume_after" value="on" /> <span>and resume the work</span></label>`)}
    <button>Comment</button>
    <button type="button" class="quiet" data-show-preview data-script-only aria-pressed="false">
      Preview
    </button>
    <a class="small to-newest" href="#newest">Newest activity</a>
  </form>`;
}
