/** An issue's properties: each is a form of its own, so that changing one never overwrites someone else's change to another. */
import { issueStatuses, priorities } from '@acp/contract';
import type { AgentOutline, Named } from '@acp/core';
import { choice, type Offer } from '../kit/choice.ts';
import type { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { type Choice, postButton, select } from '../kit/parts.ts';
import { assigneeLabel } from '../subagents/working-agents.ts';
import { labelsPart, type LabelsView } from './belongings.ts';

export interface PropertiesView extends LabelsView {
  agents: readonly AgentOutline[];
  assignees: Offer;
  projects: Offer;
  /** Why a property was refused. */
  errors: FieldErrors;
}

const choices = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: words(value) }));

export function propertiesPart(view: PropertiesView): Html {
  const { issue, agents, assignees, projects, errors, can_write } = view;
  const nobody: Choice = { value: '', label: t`nobody` };
  const holder = agents.find(({ id }) => id === issue.checked_out_by_agent_id);
  const none: Choice = { value: '', label: t`none` };
  const holds = ({ name, status }: Named): string => assigneeLabel(name, status);
  const property = (field: Html): Html =>
    html`<form method="post" action="/issues/${issue.id}/properties" data-autosubmit>
      <fieldset!${can_write ? '' : ' disabled'}>
        !${field}!${when(can_write, () => html`<button class="quiet small" data-noscript>Save</button>`)}
      </fieldset>
    </form>`;
  return html`!${property(select({ name: 'status', label: 'Status', value: issue.status, choices: choices(issueStatuses) }))}
    !${property(select({ name: 'priority', label: 'Priority', value: issue.priority, choices: choices(priorities) }))}
    !${property(choice({ name: 'assignee_agent_id', label: 'Assignee', value: issue.assignee_agent_id, offer: assignees, fixed: [nobody], named: holds, error: errors.of('assignee_agent_id') }))}
    !${property(choice({ name: 'project_id', label: 'Project', value: issue.project_id, offer: projects, fixed: [none], error: errors.of('project_id') }))}
    !${labelsPart(view)}
    <dl class="facts">
      <dt>Checked out</dt>
      <dd>${holder ? t`by ${holder.name}` : t`no`} !${when(issue.checked_out_at, timeAgo)}</dd>
      !${when(
        issue.blocked_reason,
        (reason) =>
          html`<dt>Blocked</dt>
            <dd>${reason}</dd>`,
      )}
      <dt>Created</dt>
      <dd>!${timeAgo(issue.created_at)}</dd>
      <dt>Changed</dt>
      <dd>!${timeAgo(issue.updated_at)}</dd>
    </dl>
    !${when(issue.needs_human_attention, () => html`<p class="notice">Several runs in a row changed nothing. It is waiting for a person.</p>`)}
    !${when(issue.awaiting_input, () => html`<p class="notice">An agent asked for input. A comment wakes it again.</p>`)}
    !${when(can_write && issue.assignee_agent_id, () => postButton(`/issues/${issue.id}/trigger`, 'Run the assignee', { class: 'quiet small' }))}`;
}
