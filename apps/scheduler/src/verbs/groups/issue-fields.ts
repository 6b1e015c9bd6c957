import { createValidator, UpdateIssue } from '@acp/contract';
import { delegate, type FoundPeerAgent, peerAgentNamed, updateIssue } from '@acp/core';
import { invalid } from '@acp/kernel';
import { agentOf, issueOf, looksLikeIssue, plain, words } from '../resolve.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

// The same schema as for PATCH: a model's input is validated like any client's.
const validPatch = createValidator(UpdateIssue, 'the issue');

async function patch(
  context: VerbContext,
  word: string | undefined,
  change: unknown,
  said: string,
): Promise<VerbOutcome> {
  const patchOf = validPatch(change);
  const issue = await issueOf(context, word);
  const before = JSON.stringify(Object.keys(patchOf).map((field) => Reflect.get(issue, field)));
  await updateIssue(context.tx, context.run.actor, issue, patchOf);
  const changed = before !== JSON.stringify(Object.values(patchOf));
  return { text: `${issue.identifier}: ${changed ? said : `already ${said}`}`, changed };
}

/** Delegates to an agent of a peer: the issue waits for the result from there. */
async function give(
  context: VerbContext,
  word: string | undefined,
  abroad: FoundPeerAgent,
): Promise<VerbOutcome> {
  const issue = await issueOf(context, word);
  const { identifier } = await delegate(context.tx, context.run.actor, issue, abroad);
  const to = `${abroad.peer.label}:${abroad.agent.name}`;
  return { text: `${issue.identifier}: given to ${to}, followed by ${identifier}`, changed: true };
}

export const issueFields: VerbGroup = {
  status: {
    permission: 'issues.update',
    commit: async (context) => {
      const [status, issue] = words(context);
      // Models write /status in-review as often as in_review.
      const value = plain(status!).toLowerCase().replaceAll(/[- ]/g, '_');
      return patch(context, issue, { status: value }, `status ${value}`);
    },
  },
  priority: {
    permission: 'issues.update',
    commit: async (context) => {
      const [priority, issue] = words(context);
      const value = plain(priority!).toLowerCase();
      return patch(context, issue, { priority: value }, `priority ${value}`);
    },
  },
  assign: {
    permission: 'issues.assign',
    commit: async (context) => {
      const { positional, named } = context.action.args;
      const last = positional.at(named.agent === undefined ? 1 : 0) && positional.at(-1);
      const word = named.issue === undefined && last && looksLikeIssue(last) ? last : undefined;
      const issue = named.issue ?? word;
      // An unquoted name with spaces is accepted as long as it is clear where it ends.
      const name = named.agent ?? positional.slice(0, word === undefined ? undefined : -1).join(' ');
      if (name === '') throw invalid('an agent is missing');
      const abroad = await peerAgentNamed(context.tx, context.run.company_id, name.replaceAll('"', ''));
      if (abroad !== undefined) return give(context, issue, abroad);
      const agent = await agentOf(context, name);
      return patch(context, issue, { assignee_agent_id: agent.id }, `assigned to ${agent.name}`);
    },
  },
};
