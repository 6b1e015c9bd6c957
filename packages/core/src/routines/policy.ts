/** What a routine may reference, and who may set it. */
import { type Actor, permits } from '@acp/contract';
import type { Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { assertReferences } from '../trash/index.ts';

interface RoutineReferences {
  assignee_agent_id?: string | null;
  project_id?: string | null;
  goal_id?: string | null;
}

/**
 * Checks a routine's references. Since firing assigns issues, an agent that may not assign may not create such a routine either.
 * Absent, trashed and foreign entities are treated alike. One statement if there are any references.
 * @throws forbidden, invalid naming the field
 */
export async function assertRoutineReferences(
  tx: Tx,
  actor: Actor,
  company_id: string,
  named: RoutineReferences,
  routine_id?: string,
): Promise<void> {
  if (named.assignee_agent_id && actor.kind === 'agent' && !permits(actor.permissions, 'issues.assign'))
    throw forbidden('permission issues.assign is off');
  await assertReferences(tx, 'routines', company_id, named, routine_id);
}
