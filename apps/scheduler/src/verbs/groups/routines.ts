import { createValidator, PromoteRoutine } from '@acp/contract';
import { fireRoutine, promoteRoutine, routineNamed } from '@acp/core';
import { inline } from '@acp/adapters';
import { issueOf, textOf } from '../resolve.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

const validPromotion = createValidator(PromoteRoutine, 'the routine');

async function fire(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run } = context;
  const routine = await routineNamed(tx, run.company_id, textOf(context, 'the name of a routine'));
  const { status, issue } = await fireRoutine(tx, run.actor, routine);
  const about = issue === null ? '' : `, ${issue.identifier}`;
  // A skipped run leaves nothing but its record.
  return { text: `${inline(routine.name, 100)}: ${status}${about}`, changed: status !== 'skipped' };
}

async function promote(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run } = context;
  const input = validPromotion({ cron_expression: textOf(context, 'a cron expression') });
  const issue = await issueOf(context, undefined);
  const { name, next_fire_at: next } = await promoteRoutine(tx, run.actor, issue, input);
  const when = next === null ? '' : `, next at ${new Date(next).toISOString()}`;
  return { text: `routine ${inline(name, 100)} created${when}`, changed: true };
}

export const routines: VerbGroup = {
  'fire-routine': { permission: 'routines.manage', commit: fire },
  'promote-routine': { permission: 'routines.manage', commit: promote },
};
