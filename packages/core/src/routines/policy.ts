/** What a routine may refer to, and who may let it. */
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
 * A routine assigns issues whenever it fires: an agent that may not assign may not have a routine do it either.
 * Absent, trashed and another company's are alike. One statement where anything is named at all.
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
