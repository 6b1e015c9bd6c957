import {
  type Agent,
  type CouncilSession,
  type IssueDetail,
  issueStatuses,
  priorities,
  type Run,
  type RunEvent,
  type Subagent,
  type Workspace,
} from '@acp/contract';
import type { RelatedIssue, Relative } from '@acp/core';
import { councilsPart } from '../councils/council-pages.ts';
import { money, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { markdown } from '../kit/markdown.ts';
import { type Choice, formError, input, postButton, select, status, textarea } from '../kit/parts.ts';
import { promoteForm } from '../routines/promote-form.ts';
import type { Refused } from '../routines/routine-form.ts';
import { transcript } from '../runs/transcript.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { changesCard } from '../workspaces/changes-page.ts';
import { workingAgents } from '../subagents/working-agents.ts';
import { issueTabs } from './issue-tabs.ts';
import { timeline, type TimelineView } from './timeline.ts';

export interface IssueView {
  issue: IssueDetail;
  family: { children: readonly Relative[]; related: readonly RelatedIssue[] };
  /** Spawned for it, and those below them. */
  subagents: readonly Subagent[];
  /** Null while the feature is switched off. */
  councils: readonly CouncilSession[] | null;
  /** Null where no program has worked on it. */
  workspace: Workspace | null;
  runs: readonly Run[];
  /** Of the newest run. */
  events: readonly RunEvent[];
  timeline: TimelineView;
  agents: readonly Agent[];
  projects: readonly Choice[];
  can_write: boolean;
  error: string | null;
  /** A comment that was refused, so that nothing typed is lost. */
  draft: string;
  /** The form that makes a routine of it came back. */
  promotion: Refused | null;
}

const choices = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: words(value) }));

export function issueBody(view: IssueView): Html {
  const { issue } = view;
  return html`!${issueTabs(issue.id, `/issues/${issue.id}`, view.workspace !== null)}
    <div class="columns">
      <div>
        !${formError(view.error)}
        <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/description">
          !${description(view)}
        </div>
        !${children(view)}
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
        <div data-live="issue:${issue.id}" data-part="run" data-source="/issues/${issue.id}/part/run">
          !${runPart(view)}
        </div>
        <section aria-label="Timeline">
          <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/timeline">
            !${timeline(view.timeline)}
          </div>
          !${when(view.can_write, () => commentForm(view))}
        </section>
      </div>
      <aside>
        <div class="card" data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/properties">
          !${propertiesPart(view)}
        </div>
        <div data-live="issue:${issue.id}" data-source="/issues/${issue.id}/part/changes">
          !${changesCard(view.workspace)}
        </div>
        !${when(view.can_write, () => promoteForm(issue, view.promotion))}
        !${when(view.can_write, () => html`<p>!${postButton(`/issues/${issue.id}/delete`, 'Move to the trash', { class: 'danger small' })}</p>`)}
      </aside>
    </div>`;
}

export function description({ issue, can_write }: Pick<IssueView, 'issue' | 'can_write'>): Html {
  const text = issue.body_markdown
    ? markdown(issue.body_markdown)
    : html`<p class="soft">No description.</p>`;
  return html`<section
    class="card"
    aria-label="Description"
    data-heading="${issue.identifier} ${issue.title}"
  >
    !${text}
    !${when(
      can_write,
      () =>
        html`<details class="edit">
          <summary>Edit</summary>
          <form method="post" action="/issues/${issue.id}/edit">
            !${input({ name: 'title', label: 'Title', value: issue.title, required: true })}
            !${textarea({ name: 'body_markdown', label: 'Description (Markdown)', value: issue.body_markdown, rows: 10 })}
            <button>Save</button>
          </form>
        </details>`,
    )}
  </section>`;
}

function children({ family }: IssueView): Html {
  return html`!${when(family.children.length > 0, () => section('Parts', each(family.children, relative)))}
  !${when(family.related.length > 0, () =>
    section(
      'Related',
      each(family.related, (issue) => relative(issue, relationWords(issue))),
    ),
  )}`;
}

const section = (title: string, items: Html): Html =>
  html`<section class="card">
    <h2>${title}</h2>
    <ul class="list">
      !${items}
    </ul>
  </section>`;

function relative(issue: Relative, told?: string | number): Html {
  return html`<li>
    !${status(issue.status)}
    <a class="grow" href="/issues/${issue.id}"
      ><span class="identifier">${issue.identifier}</span> ${issue.title}</a
    >
    <span class="soft small">${typeof told === 'string' ? told : (issue.assignee_name ?? '')}</span>
  </li>`;
}

function relationWords({ relation_type: type, direction }: RelatedIssue): string {
  if (type === 'relates_to') return 'relates';
  const blocks = (type === 'blocks') === (direction === 'out');
  return blocks ? 'blocked by this' : 'blocks this';
}

const nameOf = ({ agent_id }: Run, agents: readonly Agent[]): string =>
  agents.find(({ id }) => id === agent_id)?.name ?? 'an agent';

const runLine = (run: Run, agents: readonly Agent[]): Html =>
  html`<li>
    !${status(run.status)}
    <a class="grow" href="/runs/${run.id}">${nameOf(run, agents)}, ${run.wake_reason}</a>
    <span class="soft small">!${timeAgo(run.created_at)}</span>
    !${when(run.cost_usd > 0, () => money(run.cost_usd))}
  </li>`;

/** The newest run with its transcript, open while it runs, and those before it. */
export function runPart({ runs, events, agents }: Pick<IssueView, 'runs' | 'events' | 'agents'>): Html {
  const [run, ...older] = runs;
  if (!run) return '';
  const name = nameOf(run, agents);
  const live = run.status === 'running' || run.status === 'queued';
  return html`<section class="card run" aria-label="Newest run">
    <div class="comment-head">
      !${status(run.status)} <strong>${name}</strong>
      <span class="soft small">${run.wake_reason} · !${timeAgo(run.created_at)}</span>
      <span class="grow"></span>
      !${when(run.cost_usd > 0, () => money(run.cost_usd))}
      <a class="small" href="/runs/${run.id}">Run</a>
    </div>
    !${when(run.error, (error) => html`<p class="error">${error}</p>`)}
    <details data-fold="${run.id}" !${live ? ' open' : ''}>
      <summary>Transcript</summary>
      !${transcript(run, events)}
    </details>
    !${when(
      older.length > 0,
      () =>
        html`<details data-fold="older-runs">
          <summary>${older.length} earlier ${older.length === 1 ? 'run' : 'runs'}</summary>
          <ul class="list">
            !${each(older, (earlier) => runLine(earlier, agents))}
          </ul>
        </details>`,
    )}
  </section>`;
}

export function propertiesPart({
  issue,
  agents,
  projects,
  can_write,
}: Pick<IssueView, 'issue' | 'agents' | 'projects' | 'can_write'>): Html {
  const nobody: Choice = { value: '', label: 'nobody' };
  const holder = agents.find(({ id }) => id === issue.checked_out_by_agent_id);
  const assignees = [nobody, ...workingAgents(agents).map(({ id, name }) => ({ value: id, label: name }))];
  // A form for each: changing one property does not overwrite what others change meanwhile.
  const property = (field: Html): Html =>
    html`<form method="post" action="/issues/${issue.id}/properties" data-autosubmit>
      <fieldset!${can_write ? '' : ' disabled'}>
        !${field}!${when(can_write, () => html`<button class="quiet small" data-noscript>Save</button>`)}
      </fieldset>
    </form>`;
  return html`!${property(select({ name: 'status', label: 'Status', value: issue.status, choices: choices(issueStatuses) }))}
    !${property(select({ name: 'priority', label: 'Priority', value: issue.priority, choices: choices(priorities) }))}
    !${property(select({ name: 'assignee_agent_id', label: 'Assignee', value: issue.assignee_agent_id ?? '', choices: assignees }))}
    !${property(select({ name: 'project_id', label: 'Project', value: issue.project_id ?? '', choices: [{ value: '', label: 'none' }, ...projects] }))}
    <dl class="facts">
      <dt>Checked out</dt>
      <dd>${holder ? `by ${holder.name}` : 'no'} !${when(issue.checked_out_at, timeAgo)}</dd>
      !${when(
        issue.blocked_reason,
        (reason) =>
          html`<dt>Blocked</dt>
            <dd>${reason}</dd>`,
      )}
      !${when(
        issue.labels.length > 0,
        () =>
          html`<dt>Labels</dt>
            <dd class="labels">
              !${each(issue.labels, (l) => html`<span class="label">${l.name}</span>`)}
            </dd>`,
      )}
      <dt>Created</dt>
      <dd>!${timeAgo(issue.created_at)}</dd>
      <dt>Changed</dt>
      <dd>!${timeAgo(issue.updated_at)}</dd>
    </dl>
    !${when(issue.needs_human_attention, () => html`<p class="notice">Its runs changed nothing several times in a row. It waits for a person.</p>`)}
    !${when(issue.awaiting_input, () => html`<p class="notice">An agent asked for input. A comment wakes it again.</p>`)}
    !${when(can_write && issue.assignee_agent_id, () => postButton(`/issues/${issue.id}/trigger`, 'Run the assignee', { class: 'quiet small' }))}`;
}

/** In sight wherever one reads. Names and issues complete themselves, files are dropped, Ctrl-Enter sends. */
function commentForm({ issue, draft }: IssueView): Html {
  return html`<form
    class="card comment-form"
    method="post"
    action="/issues/${issue.id}/comments"
    data-composer
    data-files="/api/issues/${issue.id}/attachments"
    data-preview="/companies/${issue.company_id}/preview"
  >
    <text-expander keys="@ #">
      !${textarea({
        name: 'body_markdown',
        id: 'comment',
        label: 'Comment',
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
  </form>`;
}
