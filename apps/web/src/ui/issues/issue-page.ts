import type { CouncilSession, IssueDetail, Subagent, Workspace } from '@acp/contract';
import { refusedBy } from '../costs/held-work.ts';
import { councilsPart } from '../councils/council-pages.ts';
import { limitsOfEach, sizeOfFile } from '../kit/file-limits.ts';
import { html, type Html, t, when } from '../kit/html.ts';
import { postButton, textarea } from '../kit/parts.ts';
import { promoteForm } from '../routines/promote-form.ts';
import type { Refused } from '../routines/routine-form.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { changesCard } from '../workspaces/changes-page.ts';
import { type BelongingsView, besidePart, workPart } from './belongings.ts';
import type { Waiting } from './decisions-part.ts';
import { description } from './description.ts';
import { issueTabs } from './issue-tabs.ts';
import { propertiesPart, type PropertiesView } from './properties-part.ts';
import { runPart, type RunsOfIssue } from './run-part.ts';
import { timeline, type TimelineView } from './timeline.ts';

export interface IssueView extends BelongingsView, PropertiesView, RunsOfIssue {
  issue: IssueDetail;
  /** What it waits for. */
  waiting: Waiting;
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
        !${refusedBy(view.error, view.waiting.held_by)}
        <div
          data-live="approvals:${issue.id} issue:${issue.id} agents budget_incident"
          data-source="/issues/${issue.id}/part/decisions"
        >
          !${view.waiting.part}
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
        <div
          class="card"
          id="properties"
          data-live="issue:${issue.id}"
          data-source="/issues/${issue.id}/part/properties"
        >
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

/** Always in sight. Completes names and issues, takes dropped files, and submits on Ctrl-Enter. */
function commentForm({ issue, draft, file_limits }: IssueView): Html {
  return html`<form
    class="card comment-form"
    method="post"
    action="/issues/${issue.id}/comments"
    data-composer
    data-draft
    data-files="/api/issues/${issue.id}/attachments"
    !${limitsOfEach(file_limits)}
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
        hint: t`Markdown. @Name wakes an agent; the assignee is woken anyway. # finds an issue, files of up to ${sizeOfFile(file_limits)} can be dropped.`,
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
