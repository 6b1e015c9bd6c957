import type { Actor, PromoteRoutine, Routine } from '@acp/contract';
import type { Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { recordChanges } from '../activity/index.ts';
import type { IssueRow } from '../issues/index.ts';
import { parseCron } from './cron.ts';
import { presentRoutine } from './present.ts';
import { changeOf, insertRoutine } from './routines.ts';
import { changeOfTrigger } from './trigger-store.ts';
import { insertTrigger } from './triggers.ts';

/** Mondays at nine (decisions 7.14). */
const DEFAULT_CRON = '0 9 * * 1';

/**
 * Makes a recurring routine of an issue: its text is the template, its agent, project and goal are those of the issues
 * to come. The issue itself is none of the routine's.
 * @throws invalid for a bad expression or zone
 */
export async function promoteRoutine(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: PromoteRoutine = {},
): Promise<Routine> {
  const { expression } = parseCron(input.cron_expression ?? DEFAULT_CRON);
  const routine = await insertRoutine(tx, actor, issue.company_id, {
    name: input.name ?? issue.title,
    title_template: issue.title,
    body_template: issue.body_markdown,
    priority: issue.priority as Routine['priority'],
    assignee_agent_id: issue.assignee_agent_id,
    project_id: issue.project_id,
    goal_id: issue.goal_id,
  });
  const trigger = await insertTrigger(tx, routine, {
    id: newId(),
    kind: 'schedule',
    cron_expression: expression,
    timezone: input.timezone ?? 'UTC',
  });
  const details = { from_issue_id: issue.id, identifier: issue.identifier };
  await recordChanges(tx, actor, [
    changeOf(routine, 'routine.created', details),
    changeOfTrigger(trigger, 'routine_trigger.created'),
  ]);
  return presentRoutine({ ...routine, next_fire_at: trigger.next_fire_at });
}
