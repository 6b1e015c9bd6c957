import { type AgentRole, agentRoles, CreateIssue, createValidator } from '@acp/contract';
import { awaitSubagents, spawnSubagent } from '@acp/core';
import { inline } from '@acp/adapters';
import { invalid } from '@acp/kernel';
import { issueOf, requirePermission, textOf, words } from '../resolve.ts';
import type { Verb, VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

const validIssue = createValidator(CreateIssue, 'the issue of the sub-agent');

async function spawn(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, action } = context;
  requirePermission(run, 'issues.create');
  const [word = ''] = action.text.split(/\s+/, 1);
  const role = agentRoles.find((each) => each === word.toLowerCase());
  if (role === undefined)
    throw invalid(
      `${inline(word, 50) || 'a role'} is not a role: begin with one of ${agentRoles.join(', ')}`,
    );
  const text = action.text.slice(word.length).trim();
  const { title, body_markdown } = validIssue({
    title: textOf({ action: { ...action, text } }, 'a title'),
    body_markdown: action.body,
  });
  const issue = await issueOf(context, undefined);
  const order: { role: AgentRole; title: string; instructions: string } = {
    role,
    title,
    instructions: body_markdown ?? '',
  };
  const made = await spawnSubagent(tx, run.actor, issue, order);
  return { text: `${inline(made.name, 200)} works on ${made.issue.identifier}`, changed: true };
}

function park(recursive: boolean): Verb {
  return {
    permission: 'issues.update',
    commit: async (context) => {
      words(context);
      const issue = await issueOf(context, undefined);
      const living = await awaitSubagents(context.tx, context.run.actor, issue, { recursive });
      const text = `${issue.identifier} is parked; you are woken when ${living} sub-agents have ended. End your turn now`;
      return { text, changed: true };
    },
  };
}

export const subagents: VerbGroup = {
  'spawn-subagent': { permission: 'subagents.spawn', commit: spawn },
  'await-subagents': park(false),
  'await-subagents-recursive': park(true),
};
