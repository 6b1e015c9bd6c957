import type { Actor, CreateRoutine, PromoteRoutine, Routine } from '@acp/contract';
import type { Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { recordChanges } from '../activity/index.ts';
import type { IssueRow } from '../issues/index.ts';
import { parseCron } from '../settings/index.ts';
import { presentRoutine } from './present.ts';
import { changeOf, insertRoutine } from './routines.ts';
import { changeOfTrigger } from './trigger-store.ts';
import { insertTrigger } from './triggers.ts';

/** Mondays at nine (decisions 7.14). */
const DEFAULT_CRON = '0 9 * * 1';

type ScheduledRoutine = CreateRoutine & { cron_expression: string; timezone?: string | undefined };

/**
 * Creates a recurring routine from an issue: its text becomes the template, its agent, project and goal those of future issues.
 * The issue itself does not become part of the routine.
 * @throws invalid for a bad expression or zone
 */
export async function promoteRoutine(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: PromoteRoutine = {},
): Promise<Routine> {
  const fields = {
    name: input.name ?? issue.title,
    title_template: issue.title,
    body_template: issue.body_markdown,
    priority: issue.priority as Routine['priority'],
    assignee_agent_id: issue.assignee_agent_id,
    project_id: issue.project_id,
    goal_id: issue.goal_id,
  };
  const schedule = { cron_expression: input.cron_expression ?? DEFAULT_CRON, timezone: input.timezone };
  const details = { from_issue_id: issue.id, identifier: issue.identifier };
  return createScheduledRoutine(tx, actor, issue.company_id, { ...fields, ...schedule }, details);
}

/**
 * Creates a routine with a schedule. The default time zone is UTC.
 * @param details for the activity: its origin
 * @throws invalid for a bad expression or zone
 */
export async function createScheduledRoutine(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { cron_expression, timezone = 'UTC', ...fields }: ScheduledRoutine,
  details: Record<string, unknown> = {},
): Promise<Routine> {
  const { expression } = parseCron(cron_expression);
  const routine = await insertRoutine(tx, actor, company_id, fields);
  const trigger = await insertTrigger(tx, routine, {
    id: newId(),
    kind: 'schedule',
    cron_expression: expression,
    timezone,
  });
  await recordChanges(tx, actor, [
    changeOf(routine, 'routine.created', details),
    changeOfTrigger(trigger, 'routine_trigger.created'),
  ]);
  return presentRoutine({ ...routine, next_fire_at: trigger.next_fire_at });
}
