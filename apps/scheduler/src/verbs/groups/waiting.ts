import { awaitInput, createComment, setNeedsRouting } from '@acp/core';
import type { IssueRow } from '@acp/core';
import { issueOf } from '../resolve.ts';
import type { VerbContext, VerbGroup } from '../verb.ts';

async function comment({ tx, run, action }: VerbContext, issue: IssueRow): Promise<void> {
  if (action.text !== '') await createComment(tx, run.actor, issue, { body_markdown: action.text });
}

export const waiting: VerbGroup = {
  'needs-routing': {
    permission: 'issues.update',
    commit: async (context) => {
      const issue = await issueOf(context, context.action.args.named.issue);
      await setNeedsRouting(context.tx, context.run.actor, issue);
      await comment(context, issue);
      return { text: `${issue.identifier}: needs routing`, changed: !issue.needs_routing };
    },
  },
  'await-input': {
    permission: 'issues.update',
    commit: async (context) => {
      const issue = await issueOf(context, context.action.args.named.issue);
      await awaitInput(context.tx, context.run.actor, issue, context.action.text || null);
      await comment(context, issue);
      return { text: `${issue.identifier}: waits for input`, changed: !issue.awaiting_input };
    },
  },
};
