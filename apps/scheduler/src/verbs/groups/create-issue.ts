import { CreateIssue, createValidator } from '@acp/contract';
import { createIssue } from '@acp/core';
import { invalid } from '@acp/kernel';
import { agentOf, issueOf, plain, projectOf } from '../resolve.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

const validIssue = createValidator(CreateIssue, 'the issue');

async function commit(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, action } = context;
  const { priority, assignee, project, parent } = action.args.named;
  if (action.text === '') throw invalid('a title is missing');
  const agent = assignee === undefined ? undefined : await agentOf(context, assignee);
  const input = validIssue({
    title: action.text,
    body_markdown: action.body,
    ...(priority === undefined ? {} : { priority: plain(priority).toLowerCase() }),
    ...(agent === undefined ? {} : { assignee_agent_id: agent.id }),
    ...(project === undefined ? {} : { project_id: (await projectOf(context, project)).id }),
    ...(parent === undefined ? {} : { parent_issue_id: (await issueOf(context, parent)).id }),
  });
  const { identifier } = await createIssue(tx, run.actor, run.company_id, input);
  const assigned = agent === undefined ? '' : `, assigned to ${agent.name}`;
  return { text: `${identifier} created${assigned}`, changed: true };
}

export const issueCreation: VerbGroup = { 'create-issue': { permission: 'issues.create', commit } };
