import { agentOutlinesById, issueDetail, labelsByName } from '@acp/core';
import { offerOf } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';

/** An issue's properties, and what they can be changed to. @param error why a change of one was refused */
export async function loadProperties(context: UiContext<'issue'>, error: string | null = null) {
  const { tx, subject, company_id } = context;
  const issue = await issueDetail(tx, subject);
  const labels = await offerOf(context, 'label');
  const all = labels.source === null ? await labelsByName(tx, company_id) : [];
  return {
    issue,
    agents: await agentOutlinesById(tx, company_id, [issue.checked_out_by_agent_id]),
    assignees: await offerOf(context, 'agent', issue.assignee_agent_id),
    projects: await offerOf(context, 'project', issue.project_id),
    labels,
    other_labels: all.filter(({ id }) => !issue.labels.some((own) => own.id === id)),
    errors: new FieldErrors(error, ['assignee_agent_id', 'project_id', 'label_id', 'agent_ids']),
    can_write: mayWrite(context),
  };
}
