import { createValidator, PromoteRoutine } from '@acp/contract';
import { fireRoutine, promoteRoutine, routineNamed } from '@acp/core';
import { invalid } from '@acp/kernel';
import { inline } from '../../execution/untrusted.ts';
import { issueOf } from '../resolve.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

const validPromotion = createValidator(PromoteRoutine, 'the routine');

async function fire({ tx, run, action }: VerbContext): Promise<VerbOutcome> {
  if (action.text === '') throw invalid('the name of a routine is missing');
  const routine = await routineNamed(tx, run.company_id, unquoted(action.text));
  const { status, issue } = await fireRoutine(tx, run.actor, routine);
  const about = issue === null ? '' : `, ${issue.identifier}`;
  // A fire that was skipped has left no more than its record.
  return { text: `${inline(routine.name, 100)}: ${status}${about}`, changed: status !== 'skipped' };
}

async function promote(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, action } = context;
  if (action.text === '') throw invalid('a cron expression is missing');
  const input = validPromotion({ cron_expression: unquoted(action.text) });
  const issue = await issueOf(context, undefined);
  const { name, next_fire_at: next } = await promoteRoutine(tx, run.actor, issue, input);
  const when = next === null ? '' : `, next at ${new Date(next).toISOString()}`;
  return { text: `routine ${inline(name, 100)} created${when}`, changed: true };
}

/** Both arguments take the rest of the line; models put quotes around it all the same. */
function unquoted(text: string): string {
  return /^"([^"]*)"$/.exec(text)?.[1] ?? text;
}

export const routines: VerbGroup = {
  'fire-routine': { permission: 'routines.manage', apply: fire },
  'promote-routine': { permission: 'routines.manage', apply: promote },
};
