import type { RelationType } from '@acp/contract';
import { createRelation } from '@acp/core';
import type { IssueRow } from '@acp/core';
import { issueOf, words } from '../resolve.ts';
import type { Verb, VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

async function relate(
  context: VerbContext,
  from: IssueRow,
  to: IssueRow,
  type: RelationType,
): Promise<VerbOutcome> {
  const { tx, run } = context;
  const target = { target_issue_id: to.id, relation_type: type };
  const { created } = await createRelation(tx, run.actor, from, target);
  return {
    text: `${from.identifier} ${type} ${to.identifier}${created ? '' : ' already'}`,
    changed: created,
  };
}

function relation(type: RelationType, direction: 'from own' | 'to own'): Verb {
  return {
    permission: 'issues.update',
    commit: async (context) => {
      const [word] = words(context);
      const own = await issueOf(context, undefined);
      const other = await issueOf(context, word);
      return direction === 'from own' ? relate(context, own, other, type) : relate(context, other, own, type);
    },
  };
}

export const relations: VerbGroup = {
  blocks: relation('blocks', 'from own'),
  'blocked-by': relation('blocks', 'to own'),
  relates: relation('relates_to', 'from own'),
};
