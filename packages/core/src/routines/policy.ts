/** What a routine may reference, and who may set it up. */
import { type Actor, type AgentPermission, requirePermission } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { eq } from 'drizzle-orm';
import { assertReferences } from '../trash/index.ts';
import type { RoutineRow } from './rows.ts';

const { routines } = schema;

type Assigning = Pick<RoutineRow, 'assignee_agent_id'>;

interface RoutineReferences {
  assignee_agent_id?: string | null;
  project_id?: string | null;
  goal_id?: string | null;
}

/** What it takes to create the issues of a routine by hand. */
const needed = ({ assignee_agent_id }: Assigning): AgentPermission[] =>
  assignee_agent_id === null ? ['issues.create'] : ['issues.create', 'issues.assign'];

/**
 * A routine creates issues with nobody's rights, and assigns them: whoever writes its texts, decides when it fires, or fires it, must be
 * allowed to do both by hand. @throws forbidden for an agent that may not
 */
export function assertMayHaveDone(actor: Actor, routine: Assigning): void {
  for (const permission of needed(routine)) requirePermission(actor, permission);
}

/** The same for a trigger of the routine. @throws forbidden */
export async function assertMaySetOff(
  tx: Tx,
  actor: Actor,
  { routine_id }: { routine_id: string },
): Promise<void> {
  if (actor.kind !== 'agent') return;
  const [routine] = await tx
    .select({ assignee_agent_id: routines.assignee_agent_id })
    .from(routines)
    .where(eq(routines.id, routine_id));
  if (routine !== undefined) assertMayHaveDone(actor, routine);
}

/**
 * Checks a routine's references, and whether the actor may have it done. Absent, trashed and foreign entities are treated alike.
 * One statement if there are any references.
 * @param before null: a new routine
 * @throws forbidden, invalid naming the field
 */
export async function assertRoutine(
  tx: Tx,
  actor: Actor,
  company_id: string,
  named: RoutineReferences,
  before: (Assigning & { id: string }) | null = null,
): Promise<void> {
  if (before !== null) assertMayHaveDone(actor, before);
  assertMayHaveDone(actor, { assignee_agent_id: named.assignee_agent_id ?? null });
  await assertReferences(tx, 'routines', company_id, named, before?.id);
}
