import { checkoutIssue, releaseIssue } from '@acp/core';
import { issueOf, words } from '../resolve.ts';
import type { VerbGroup } from '../verb.ts';

// Checking out and releasing an issue is not progress of the work, so neither counts as a change.
export const checkouts: VerbGroup = {
  checkout: {
    commit: async (context) => {
      const issue = await issueOf(context, words(context)[0]);
      // The run's own checkout already belongs to the agent; it stays with the run (decisions 7.13).
      if (issue.checked_out_by_agent_id === context.run.agent_id) {
        return { text: `${issue.identifier}: already yours`, changed: false };
      }
      await checkoutIssue(context.tx, context.run.actor, issue);
      return { text: `${issue.identifier}: checked out`, changed: false };
    },
  },
  release: {
    commit: async (context) => {
      const issue = await issueOf(context, words(context)[0]);
      await releaseIssue(context.tx, context.run.actor, issue);
      return { text: `${issue.identifier}: released`, changed: false };
    },
  },
};
