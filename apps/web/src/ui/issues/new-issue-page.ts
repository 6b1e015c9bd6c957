import { priorities, type Project } from '@acp/contract';
import type { AgentOutline } from '@acp/core';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { assigneeChoice, workingAgents } from '../subagents/working-agents.ts';
import { formError, input, select, textarea } from '../kit/parts.ts';

interface NewIssueView {
  company_id: string;
  agents: readonly AgentOutline[];
  projects: readonly Project[];
  error: string | null;
  /** What was typed before an error. */
  form: FormValues | null;
}

export function newIssueBody({ company_id, agents, projects, error, form }: NewIssueView): Html {
  const typed = (name: string) => form?.text(name) ?? '';
  const assignees = workingAgents(agents).map((agent) =>
    assigneeChoice(agent, `${agent.name} (${words(agent.role)})`),
  );
  return html`<form class="card" method="post" action="/companies/${company_id}/issues/new">
    !${formError(error)}
    !${input({ name: 'title', label: 'Title', value: typed('title'), required: true, autofocus: true })}
    !${textarea({ name: 'body_markdown', label: 'Description (Markdown)', value: typed('body_markdown'), rows: 8 })}
    <div class="row">
      !${select({ name: 'assignee_agent_id', label: 'Assignee', value: typed('assignee_agent_id'), choices: [{ value: '', label: t`nobody` }, ...assignees], hint: 'The assignee starts right away.' })}
      !${select({ name: 'priority', label: 'Priority', value: typed('priority') || 'medium', choices: priorities.map((value) => ({ value, label: words(value) })) })}
      !${select({ name: 'project_id', label: 'Project', value: typed('project_id'), choices: [{ value: '', label: t`none` }, ...projects.map(({ id, name }) => ({ value: id, label: name }))] })}
    </div>
    <p></p>
    <button>Create the issue</button>
  </form>`;
}
