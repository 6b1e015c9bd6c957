import { createValidator, ListIssues } from '@acp/contract';
import type { Issue } from '@acp/contract';
import { listIssues, promptFacts } from '@acp/core';
import { notFound } from '@acp/kernel';
import { renderIssue } from '../../execution/kinds/heartbeat/render-issue.ts';
import { inline } from '@acp/adapters';
import { agentOf, issueOf, limitOf, projectOf, words } from '../resolve.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

const validQuery = createValidator(ListIssues, 'the list', true);

async function getIssue(context: VerbContext): Promise<VerbOutcome> {
  const { id } = await issueOf(context, words(context)[0]);
  // Reads it as a prompt reads its own issue: one statement, the same limits.
  const issue = (await promptFacts(context.tx, { ...context.run, issue_id: id }))?.issue ?? null;
  if (issue === null) throw notFound('the issue is gone');
  return { text: renderIssue(issue), changed: false };
}

async function list(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, action } = context;
  const { status, assignee, priority, project, q, limit } = action.args.named;
  words(context);
  const query = validQuery({
    limit: limitOf(limit),
    ...(priority === undefined ? {} : { priority: priority.toLowerCase() }),
    ...(status === undefined ? {} : { status: status.toLowerCase() }),
    ...(q === undefined ? {} : { q }),
    ...(assignee === undefined ? {} : { assigneeAgentId: (await agentOf(context, assignee)).id }),
    ...(project === undefined ? {} : { projectId: (await projectOf(context, project)).id }),
  });
  const { items } = await listIssues(tx, run.company_id, query);
  const lines = items.map((issue) => line(issue, run.agent_id));
  return { text: lines.join('\n') || 'no issues', changed: false };
}

function line(issue: Issue, ownId: string): string {
  const assignee =
    issue.assignee_agent_id === null
      ? 'unassigned'
      : issue.assignee_agent_id === ownId
        ? 'yours'
        : `assigned to ${issue.assignee_agent_id}`;
  return `${issue.identifier} [${issue.status}, ${issue.priority}, ${assignee}] ${inline(issue.title, 200)}`;
}

export const reading: VerbGroup = { 'get-issue': { commit: getIssue }, 'list-issues': { commit: list } };
