import type { CouncilSession, IssueDetail, Subagent, Workspace } from '@acp/contract';
import { isHeld, refusedBy } from '../costs/held-work.ts';
import { councilsPart } from '../councils/council-pages.ts';
import { html, type Html, when } from '../kit/html.ts';
import { formError, postButton } from '../kit/parts.ts';
import { promoteForm, type PromotionView } from '../routines/promote-form.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { changesCard } from '../workspaces/changes-page.ts';
import { type BelongingsView, besidePart, workPart } from './belongings.ts';
import { conversation, type ConversationView } from './conversation.ts';
import type { Waiting } from './decisions-part.ts';
import { description } from './description.ts';
import { issueTabs } from './issue-tabs.ts';
import { propertiesPart, type PropertiesView } from './properties-part.ts';
import { runPart, type RunsOfIssue } from './run-part.ts';

export interface IssueView
  extends BelongingsView, ConversationView, PropertiesView, PromotionView, RunsOfIssue {
  issue: IssueDetail;
  /** What it waits for. */
  waiting: Waiting;
  /** Subagents spawned for the issue, and those below them. */
  subagents: readonly Subagent[];
  /** Null if the feature is off. */
  councils: readonly CouncilSession[] | null;
  /** Null if no program has worked on the issue. */
  workspace: Workspace | null;
  error: string | null;
}

export async function issueBody(view: IssueView): Promise<Html> {
  const { issue } = view;
  // Said in a part that renews itself.
  const byBudget = isHeld(view.error);
  return html`<div hidden data-reads-issue="${issue.id}"></div>
    !${issueTabs(issue.id, `/issues/${issue.id}`, view.workspace !== null)}
    <div class="columns">
      <div>
        !${when(!byBudget, () => formError(view.errors.general === null ? null : view.error))}
        <div
          data-live="approvals:${issue.id} issue:${issue.id} agents budget_incident"
          data-pace="5000"
          data-source="/issues/${issue.id}/part/decisions"
        >
          !${when(byBudget, () => refusedBy(view.error, view.waiting.held_by))}!${view.waiting.part}
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
        <div
          data-live="issue:${issue.id} agents"
          data-pace="5000"
          data-source="/issues/${issue.id}/part/subagents"
        >
          !${subagentTree(view.subagents)}
        </div>
        !${when(
          view.councils,
          (councils) =>
            html`<div
              data-live="council_sessions:${issue.id}"
              data-source="/issues/${issue.id}/part/councils"
            >
              !${councilsPart(issue, councils, view.assignees, view.can_write, view.errors.of('agent_ids'))}
            </div>`,
        )}
        !${conversation(view)}
      </div>
      <aside>
        <div
          class="card"
          id="properties"
          data-live="issue:${issue.id} agents budget_incident"
          data-pace="5000"
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
        !${when(view.can_write, () => promoteForm(issue, view))}
        !${when(view.can_write, () => html`<p>!${postButton(`/issues/${issue.id}/delete`, 'Move to the trash', { class: 'danger small' })}</p>`)}
      </aside>
    </div>`;
}
