import { priorities } from '@acp/contract';
import type { Named } from '@acp/core';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { assigneeLabel } from '../subagents/working-agents.ts';
import { formError, input, select, textarea } from '../kit/parts.ts';

interface NewIssueView {
  company_id: string;
  agents: Offer;
  projects: Offer;
  error: string | null;
  /** What was typed before an error. */
  form: FormValues | null;
}

export function newIssueBody({ company_id, agents, projects, error, form }: NewIssueView): Html {
  const typed = (name: string) => form?.text(name) ?? '';
  const errors = new FieldErrors(error, ['assignee_agent_id', 'project_id']);
  const named = ({ name, detail, status }: Named): string =>
    assigneeLabel(`${name} (${words(detail ?? '')})`, status);
  return html`<form class="card" method="post" action="/companies/${company_id}/issues/new">
    !${formError(errors.general === null ? null : error)}
    !${input({ name: 'title', label: 'Title', value: typed('title'), required: true, autofocus: true })}
    !${textarea({ name: 'body_markdown', label: 'Description (Markdown)', value: typed('body_markdown'), rows: 8 })}
    <div class="row">
      !${choice({ name: 'assignee_agent_id', label: 'Assignee', value: typed('assignee_agent_id'), offer: agents, fixed: [{ value: '', label: t`nobody` }], named, hint: 'The assignee starts right away.', error: errors.of('assignee_agent_id') })}
      !${select({ name: 'priority', label: 'Priority', value: typed('priority') || 'medium', choices: priorities.map((value) => ({ value, label: words(value) })) })}
      !${choice({ name: 'project_id', label: 'Project', value: typed('project_id'), offer: projects, fixed: [{ value: '', label: t`none` }], error: errors.of('project_id') })}
    </div>
    <p></p>
    <button>Create the issue</button>
  </form>`;
}
